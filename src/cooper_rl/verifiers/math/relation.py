"""Equations, inequalities, ratios, congruences and intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from cooper_rl.verifiers.math import algebra
from cooper_rl.verifiers.math.expression import Expression, as_sympy
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read, all_equal, compare, compare_unordered
from cooper_rl.verifiers.math.group import AnswerTuple, Group, Matrix
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, split_brackets, split_top, without_marks, without_spaces
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import COMPARISON_SIGN, CONDITION, SEPARATOR, is_long_name, is_name
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


def _expressions(*relations: Relation) -> list[Expression]:
    return [side for each in relations for side in (each.left, each.right) if isinstance(side, Expression)]


def _same_equation(reference: Relation | None, answer: Relation | None) -> Comparison:
    if reference is None or answer is None:
        return Comparison.NOT_KNOWN
    if reference.sign != answer.sign:
        return Comparison.OPEN
    sides = [as_sympy(side) for form in (reference, answer) for side in (form.left, form.right)]
    if any(side is None for side in sides):
        return Comparison.NOT_KNOWN
    if any(algebra.is_slashed(form.text) for form in _expressions(reference, answer)):
        return Comparison.OPEN
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

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares as a tuple. Shares of a whole, such as 20 %, 30 % and 50 %, may be a ratio too."""
        found = super(Ratio, self).compare(answer)
        return found if isinstance(answer, Ratio) else found.unless_different

    @classmethod
    def parse(cls, text: str, read: Read) -> Ratio | None:
        if not _RATIO.fullmatch(text):
            return None
        values = [Fraction(part) for part in text.replace(" ", "").split(":")]
        scale = math.lcm(*(value.denominator for value in values))
        whole = [int(value * scale) for value in values]
        divisor = math.gcd(*whole) or 1
        return cls(tuple(Number(Fraction(value, divisor)) for value in whole))


_INFINITE = re.compile(r"(?P<sign>[-+]?) ?(?:\\infty|infinity|oo)")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; None is infinite."""

    low: AnswerForm | None
    high: AnswerForm | None
    low_closed: bool
    high_closed: bool

    def compare(self, answer: Interval) -> Comparison:
        """Whether both ends are the same. OPEN where only brackets differ: whether an end belongs to an interval
        on which a function grows, for example, is a matter of convention."""
        found = all_equal((_same_end(self.low, answer.low), _same_end(self.high, answer.high)))
        same_brackets = (self.low_closed, self.high_closed) == (answer.low_closed, answer.high_closed)
        return found if same_brackets else found.unless_equal


@dataclass(frozen=True, slots=True)
class Intervals(AnswerForm):
    """A union of intervals, written as such or as inequalities of one unknown."""

    kind: ClassVar[str] = "intervals"
    library_decides: ClassVar[bool] = True
    parts: tuple[Interval, ...]

    @classmethod
    def parse(cls, text: str, read: Read) -> Intervals | None:
        """Reads `(-\\infty, 1] \\cup (2, 3)`, `x < 1 or x > 2` and `[1, 2)`."""
        if "\\cup" in text:
            found = [as_intervals(read(part)) for part in split_top(text, r"\\cup")]
            if all(found):
                return cls(tuple(interval for some in found if some for interval in some.parts))
        elif COMPARISON_SIGN.search(text) and len(split_top(text, "[,;]")) == 1:
            options = [_inequality(option, read) for option in split_top(text, rf" or |{OPEN} ?or ?{CLOSE}")]
            if all(options):
                return cls(tuple(interval for interval in options if interval))
        interval = None if "\\pm" in text else _in_brackets(text, read)
        return cls((interval,)) if interval else None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Whether the intervals are the same, in any order."""
        other = as_intervals(answer)
        return _of_another_form(answer) if other is None else _same_intervals(self, other)

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        other = as_intervals(reference)
        return _of_another_form(reference) if other is None else _same_intervals(other, self)


def as_intervals(form: AnswerForm | None) -> Intervals | None:
    """An answer as intervals. A pair such as `(1, 2)` becomes the open interval; None for any other form."""
    if isinstance(form, AnswerTuple) and len(form.items) == 2:
        return Intervals((Interval(form.items[0], form.items[1], False, False),))
    return form if isinstance(form, Intervals) else None


def _same_intervals(reference: Intervals, answer: Intervals) -> Comparison:
    if len(reference.parts) != len(answer.parts):
        return Comparison.OPEN  # the union of [0, 1] and [1, 2] is [0, 2]
    return compare_unordered(reference.parts, answer.parts, Interval.compare)


def _of_another_form(form: AnswerForm) -> Comparison:
    known = isinstance(form, Number | Date | Expression | Group | Matrix)
    return Comparison.OPEN if known else Comparison.NOT_KNOWN


def _same_end(reference: AnswerForm | None, answer: AnswerForm | None) -> Comparison:
    if reference is None or answer is None:
        return Comparison.of(reference is answer)
    return compare(reference, answer)


def _in_brackets(text: str, read: Read) -> Interval | None:
    """Reads `[1, 2)` and `(1, \\infty)`. None for `(1, 2)`, which may also be a point."""
    parts = [part.strip() for part in split_brackets(text)]
    infinite = [_INFINITE.fullmatch(part) for part in parts]
    if len(parts) != 2 or not (text[0] == "[" or text[-1] == "]" or any(infinite)):
        return None
    if any(none and (none["sign"] == "-") is not low for none, low in zip(infinite, (True, False), strict=True)):
        return None  # from infinity to 0
    bounds = _read_ends(parts, read)
    if bounds is None:
        return None
    return Interval(bounds[0], bounds[1], text[0] == "[", text[-1] == "]")


def _inequality(text: str, read: Read) -> Interval | None:
    """Reads `a < x <= b`, `x > 5` and `5 < x`."""
    text = CONDITION.sub("", text).strip()
    signs = COMPARISON_SIGN.findall(text)
    sides = [side.strip() for side in COMPARISON_SIGN.split(text)]
    if len(signs) == 1:
        return _one_bound(sides[0], signs[0], sides[1], read)
    if len(signs) == 2 and is_name(sides[1]) and signs[0][0] == signs[1][0]:
        if signs[0].startswith(">"):
            sides, signs = sides[::-1], signs[::-1]
        return _between(sides[0], signs[0], signs[1], sides[2], read)
    return None


def _between(low: str, after_low: str, before_high: str, high: str, read: Read) -> Interval | None:
    """Reads an inequality with two signs. An end may be infinite: `0 <= x < \\infty`."""
    ends = _read_ends((low, high), read)
    if ends is None:
        return None
    closed = [sign.endswith("=") and end is not None for end, sign in zip(ends, (after_low, before_high), strict=True)]
    return Interval(ends[0], ends[1], closed[0], closed[1])


def _read_ends(texts: Sequence[str], read: Read) -> list[AnswerForm | None] | None:
    """The forms of an interval's ends, None for an infinite one; None altogether if an end has no form."""
    infinite = [_INFINITE.fullmatch(text) for text in texts]
    ends = [None if none else read(text) for none, text in zip(infinite, texts, strict=True)]
    unread = any(end is None and not none for none, end in zip(infinite, ends, strict=True))
    return None if unread else ends


def _one_bound(left: str, sign: str, right: str, read: Read) -> Interval | None:
    if not is_name(left) or (is_name(right) and right < left):  # q < b is b > q
        left, right, sign = right, left, _TURNED[sign]
    bound = read(right)
    if not is_name(left) or bound is None:
        return None
    if sign.startswith("<"):
        return Interval(None, bound, False, sign == "<=")
    return Interval(bound, None, sign == ">=", False)
