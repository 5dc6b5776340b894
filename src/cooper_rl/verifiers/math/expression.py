"""Mathematical expressions that are not single numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from cooper_rl.verifiers.math import algebra, estimate
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Partial, Read
from cooper_rl.verifiers.math.markup import CLOSE, OPEN
from cooper_rl.verifiers.math.number import NEAR, Number, may_be_rounded, rounds_to
from cooper_rl.verifiers.math.phrases import CONDITION, looks_mathematical, matters
from cooper_rl.verifiers.math.words import Date, Words

LARGEST = 10**40  # values beyond it are not compared by their decimals
MANY_DECIMALS = 20  # of a value that was computed from decimals
_ANY_BASE = re.compile(r"log(?!_)")
_PARAMETER = re.compile(r"(?<![A-Za-z\\])[kmn](?![A-Za-z])")
_PERIODIC = re.compile(r"\\(?:pi|sin|cos|tan)|\(-1\)\^")
_RANGE = re.compile(r"\d{1,4}[-–]\d{1,4}")
_CHOOSE = re.compile(r"\d ?[CP] ?\d|[CP] ?\(")
_CONSTANT = re.compile(r"\+[CcK](?:_\d)?$")
_LABEL = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}(?: ?\^ ?\{{?-?\d\}}?)?")


@dataclass(frozen=True, slots=True)
class Expression(AnswerForm):
    """An expression as text.

    Where the answer is an equation such as `f(x) = 2x`, `name` is `f` and `arguments` is `x`.
    """

    kind: ClassVar[str] = "expression"
    library_decides: ClassVar[bool] = True
    text: str
    name: str = ""
    arguments: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, read: Read) -> Expression | Partial | None:
        """Reads a text that looks like mathematics, without the words after it ("84/13 days").

        Where a condition or a rounded value after it is left out, the answer is `Partial`.
        """
        if not looks_mathematical(text):
            return None
        kept = CONDITION.sub("", re.split(r"\\approx", text)[0])
        found = cls(_LABEL.sub(" ", kept).strip(" .,;"))
        words = " ".join(label for label in _LABEL.findall(kept) if matters(label))
        return found if kept == text and not words else Partial(found, words + text[len(kept) :])

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares by value with numbers and expressions. A single letter is also compared as a choice letter."""
        if isinstance(answer, Number | Expression):
            return _same_value(self, answer)
        return Comparison.OPEN if isinstance(answer, Date) else self._same_letter(answer)

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        if isinstance(reference, Number):
            return _same_value(reference, self)
        return self._same_letter(reference)

    def _same_letter(self, other: AnswerForm) -> Comparison:
        letter = choice_letter(self)
        return Comparison.EQUAL if letter and letter == choice_letter(other) else Comparison.NOT_KNOWN


def choice_letter(form: AnswerForm) -> str:
    """The choice letter that an answer may stand for, also where it was read as a variable; "" for any other answer."""
    return form.text.lower() if isinstance(form, Words | Expression) and len(form.text) == 1 else ""


def is_range(form: AnswerForm | None) -> bool:
    """Whether an answer may be a range of years or pages, or a score, and no difference: 1939-45, 3-1."""
    return isinstance(form, Expression) and bool(_RANGE.fullmatch(_text(form)))


def as_sympy(form: AnswerForm) -> Any:
    """A number or expression in sympy; None if it cannot be parsed, or for any other form."""
    if isinstance(form, Expression):
        return algebra.parse(form.text)
    if not isinstance(form, Number):
        return None
    value = algebra.sympy.Rational(form.value.numerator, form.value.denominator)
    return value * algebra.sympy.pi / 180 if form.degrees else value


def _same_value(reference: Number | Expression, answer: Number | Expression) -> Comparison:
    if _text(reference) and _text(reference) == _text(answer):
        return Comparison.EQUAL
    if any(algebra.is_slashed(_text(side)) for side in (reference, answer)):
        return Comparison.OPEN
    if isinstance(reference, Number) and reference.decimals is None and algebra.is_unfinished(_text(answer)):
        return Comparison.NOT_KNOWN
    if any(isinstance(side, Number) and side.clock for side in (reference, answer)):
        return Comparison.OPEN  # the value of 00:04 is not that of 0m
    if _plus_constant(reference) and _plus_constant(answer):
        reference, answer = _with_one_constant(reference), _with_one_constant(answer)
        return _by_algebra(reference, answer)
    found = _by_estimate(reference, answer) or _by_algebra(reference, answer)
    return found.unless_different if _is_ambiguous(reference) or _is_ambiguous(answer) else found


def _by_algebra(reference: Number | Expression, answer: Number | Expression) -> Comparison:
    a, b = as_sympy(reference), as_sympy(answer)
    if a is None or b is None:
        return Comparison.NOT_KNOWN
    old, new = _arguments(answer), _arguments(reference)
    if len(old) == len(new):
        b = algebra.rename(b, old, new)
    if a.free_symbols != b.free_symbols:
        b = algebra.same_family(a, b)
    if a.free_symbols != b.free_symbols:  # authors mix C and c, and a policy may too
        a, b = algebra.lower_case(a), algebra.lower_case(b)
        return (
            Comparison.of(algebra.equal_values(a, b)).unless_equal
            if a.free_symbols == b.free_symbols
            else Comparison.OPEN
        )
    if not a.free_symbols and not b.free_symbols:
        return _same_constant(reference, answer, a, b)
    same = algebra.equal_values(a, b)
    if not same and _plus_constant(reference) and _plus_constant(answer) and algebra.differ_by_constant(a, b):
        return Comparison.EQUAL
    return Comparison.OPEN if same is None and a.free_symbols != b.free_symbols else Comparison.of(same)


def _with_one_constant(form: Number | Expression) -> Number | Expression:
    """The expression with its constant written as C, since the letter means nothing."""
    return replace(form, text=_CONSTANT.sub("+C", _text(form))) if isinstance(form, Expression) else form


def _plus_constant(form: Number | Expression) -> bool:
    """Whether an expression ends in the constant of an antiderivative: `x^2 + C`."""
    return bool(_CONSTANT.search(_text(form)))


def _same_constant(reference: Number | Expression, answer: Number | Expression, a: Any, b: Any) -> Comparison:
    """Compares two values without letters. A decimal may be the rounded value of the other side."""
    values = [algebra.value_at(side, {}) for side in (a, b)]
    if all(value is not None and value.is_comparable and abs(value) < LARGEST for value in values):
        number, other = (_as_number(form, value) for form, value in zip((reference, answer), values, strict=True))
        if isinstance(reference, Number) and rounds_to(number, other):
            return Comparison.EQUAL
        rounded = may_be_rounded(number, other)
    else:
        rounded = False
    same = algebra.equal_values(a, b)
    return Comparison.OPEN if rounded and not same else Comparison.of(same)


def _as_number(form: Number | Expression, value: Any) -> Number:
    """A real constant as a number: exact, unless decimals occur in it."""
    if isinstance(form, Number) and not form.degrees:
        return form
    exact = Fraction(str(value)).limit_denominator(10**30)
    return Number(exact, MANY_DECIMALS if "." in _text(form) else None)


def _by_estimate(reference: Number | Expression, answer: Number | Expression) -> Comparison | None:
    """What estimates say of two expressions; None if nothing. Only exact values show that two are equal."""
    own, its = _arguments(reference), _arguments(answer)
    if own and its and own != its:
        return None
    a, b = _estimate(reference), _estimate(answer)
    if a is None or b is None:
        return None
    if a.exact is not None and a.exact == b.exact:
        return Comparison.EQUAL
    digits = (form.decimals for form in (reference, answer) if isinstance(form, Number) and form.decimals is not None)
    rounding = max((10.0**-count for count in digits), default=0.0)
    if not a.differs_from(b, rounding, 2 / NEAR):
        return None
    return Comparison.DIFFERENT if a.same_letters(b) else Comparison.OPEN


def _is_ambiguous(form: Number | Expression) -> bool:
    """Whether a difference in value proves nothing: a logarithm to an unknown base, or an integer parameter."""
    text = form.text if isinstance(form, Expression) else ""
    return bool(_ANY_BASE.search(text) or (_PARAMETER.search(text) and _PERIODIC.search(text)))


def _estimate(form: Number | Expression) -> estimate.Estimate | None:
    if isinstance(form, Expression):
        return estimate.of_text(form.text)
    return estimate.of_number(form.value, degrees=form.degrees)


def has_letters(expression: Expression) -> bool:
    """Whether an expression surely has letters, so that its value is not a single number as that of e^2 and 8C3 is."""
    found = estimate.of_text(expression.text)
    return found is not None and found.plain and bool(found.letters - {"e"}) and not _CHOOSE.search(expression.text)


def _text(form: AnswerForm) -> str:
    return form.text.replace(" ", "") if isinstance(form, Expression) else ""


def _arguments(form: AnswerForm) -> tuple[str, ...]:
    return form.arguments if isinstance(form, Expression) else ()
