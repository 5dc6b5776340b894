"""Equations, inequations and congruences, and orders: parts with signs between them that say how they are ordered."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from cooper_rl.verifiers.math import algebra
from cooper_rl.verifiers.math.expression import Expression, as_sympy
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.group import AnswerTuple
from cooper_rl.verifiers.math.markup import split_top, without_marks, without_spaces
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import COMPARISON_SIGN, SEPARATOR, is_long_name, is_name
from cooper_rl.verifiers.math.words import Date

_CONGRUENCE = re.compile(
    r"(?:(?P<left>[^=]+?) ?(?:\\equiv|=) ?)?(?P<residue>-?\d{1,9}) ?\(? ?(?:\\[pb]?mod|mod(?:ulo)?)"
    r" ?\{? ?(?P<modulus>\d{1,9}) ?\}? ?\)?"
)
_ARROW = r"->|→|\\(?:to|(?:long)?rightarrow)\b"
_RATIO = re.compile(r"\d+(?:\.\d+)?(?: ?: ?\d+(?:\.\d+)?){2,}")
_CHAINED = re.compile(rf"{_ARROW}|[<>]")


@dataclass(frozen=True, slots=True)
class Relation(AnswerForm):
    """`left != right`, or an equation that is not just an assignment."""

    kind: ClassVar[str] = "relation"
    library_decides: ClassVar[bool] = True
    sign: str
    left: AnswerForm
    right: AnswerForm

    @classmethod
    def parse(cls, text: str, read: Read) -> Relation | None:
        """Reads two sides that are both numbers or expressions."""
        sign = "!=" if "!=" in text else "="
        sides = text.split(sign)
        if len(sides) != 2 or "\\cup" in text or COMPARISON_SIGN.search(text):
            return None
        if len(split_top(text, "[,;]|\\\\approx")) != 1:
            return None
        left, right = read(sides[0]), read(sides[1])
        mathematical = isinstance(left, Number | Expression) and isinstance(right, Number | Expression)
        return cls(sign, left, right) if mathematical and left and right else None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares the solutions of two equations. An expression is compared as the value of the one unknown."""
        if isinstance(answer, Number | Date):
            return Comparison.OPEN
        return _same_equation(self, _as_relation(answer, self))

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        if isinstance(reference, Number | Date):
            return Comparison.OPEN
        return _same_equation(_as_relation(reference, self), self)


def _as_relation(form: AnswerForm, other: Relation) -> Relation | None:
    """An answer as an equation. A bare `2x + 1` becomes `y = 2x + 1` if y is the one unknown that only `other` has."""
    if isinstance(form, Relation):
        return form
    if not isinstance(form, Expression) or form.arguments:
        return None
    if form.name:
        return Relation("=", Expression(form.name), Expression(form.text))
    sides = [as_sympy(side) for side in (form, other.left, other.right)]
    if None in sides:
        return None
    unknowns = (sides[1].free_symbols | sides[2].free_symbols) - sides[0].free_symbols
    return Relation("=", Expression(str(*unknowns)), form) if len(unknowns) == 1 else None


def _same_equation(reference: Relation | None, answer: Relation | None) -> Comparison:
    if reference is None or answer is None:
        return Comparison.NOT_KNOWN
    if reference.sign != answer.sign:
        return Comparison.OPEN
    sides = [as_sympy(side) for form in (reference, answer) for side in (form.left, form.right)]
    if any(side is None for side in sides):
        return Comparison.NOT_KNOWN
    left, right, other_left, other_right = sides
    same = algebra.same_solutions(left - right, other_left - other_right)
    return Comparison.OPEN if same is None else Comparison.of(same)


@dataclass(frozen=True, slots=True)
class Congruence(AnswerForm):
    """`x \\equiv 3 \\pmod 7`: a residue, its modulus, and what has it."""

    kind: ClassVar[str] = "relation"
    left: str
    residue: int
    modulus: int

    @classmethod
    def parse(cls, text: str, read: Read) -> Congruence | None:
        found = _CONGRUENCE.fullmatch(without_marks(text))
        if not found or int(found["modulus"]) == 0:
            return None
        return cls(without_spaces(found["left"] or ""), int(found["residue"]), int(found["modulus"]))

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares residues of one modulus. Another modulus, and a number alone, are OPEN."""
        if not isinstance(answer, Congruence) or (self.left and answer.left and self.left != answer.left):
            return Comparison.OPEN
        if self.modulus != answer.modulus:
            return Comparison.OPEN
        return Comparison.of((self.residue - answer.residue) % self.modulus == 0)

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """OPEN: the reference names no modulus."""
        return Comparison.OPEN


@dataclass(frozen=True, slots=True)
class Chain(AnswerTuple):
    """`a -> b -> c` and `a < b < c < d`, kept from the least to the greatest. `0 < x < 1` is an interval instead."""

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares as a tuple. The same parts in another order are DIFFERENT, also where they are only names."""
        if isinstance(answer, Chain) and self.items != answer.items and set(self.items) == set(answer.items):
            return Comparison.DIFFERENT
        return super(Chain, self).compare(answer)

    @classmethod
    def parse(cls, text: str, read: Read) -> Chain | None:
        if not _CHAINED.search(text) or len(split_top(text, SEPARATOR)) > 1:
            return None
        parts = [part.strip() for part in split_top(text, _ARROW)]
        if len(parts) > 1:
            return cls.of_parts(parts, read)
        signs = set(COMPARISON_SIGN.findall(text))
        if signs not in ({"<"}, {">"}):
            return None
        parts = [part.strip() for part in split_top(text, "[<>]")][:: 1 if "<" in signs else -1]
        if len(parts) < 3 or (len(parts) == 3 and is_name(parts[1]) and not all(map(is_long_name, parts))):
            return None
        found = cls.of_parts(parts, read)
        bounds = found and len(parts) == 3 and any(isinstance(item, Number) for item in found.items)
        return None if bounds else found  # 0 < x + y < 1 bounds an expression


@dataclass(frozen=True, slots=True)
class Ratio(AnswerTuple):
    """`3:4:5`: three or more numbers, kept in lowest terms, so that `6:8:10` is the same."""

    @classmethod
    def parse(cls, text: str, read: Read) -> Ratio | None:
        if not _RATIO.fullmatch(text):
            return None
        values = [Fraction(part) for part in text.replace(" ", "").split(":")]
        scale = math.lcm(*(value.denominator for value in values))
        whole = [int(value * scale) for value in values]
        divisor = math.gcd(*whole) or 1
        return cls(tuple(Number(Fraction(value, divisor)) for value in whole))
