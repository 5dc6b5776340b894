"""Mathematical expressions that are not single numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from cooper_rl.verifiers.math import algebra, estimate
from cooper_rl.verifiers.math.date import Date
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import CLOSE, OPEN
from cooper_rl.verifiers.math.number import Number, rounds_to
from cooper_rl.verifiers.math.phrases import CONDITION, looks_mathematical
from cooper_rl.verifiers.math.words import Words

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
    def parse(cls, text: str, read: Read) -> Expression | None:
        """Reads a text that looks like mathematics, without the words after it ("84/13 days")."""
        if not looks_mathematical(text):
            return None
        text = re.split(r"\\approx", text)[0]
        return cls(_LABEL.sub(" ", CONDITION.sub("", text)).strip(" .,;"))

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares by value with numbers and expressions. A single letter is also compared as a choice letter."""
        if isinstance(answer, Number | Expression):
            return _same_value(self, answer)
        if isinstance(answer, Date):
            return Comparison.DIFFERENT
        return self._same_letter(answer)

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


def as_sympy(form: AnswerForm) -> Any:
    """A number or expression in sympy; None if it cannot be parsed, or for any other form."""
    if isinstance(form, Expression):
        return algebra.parsed(form.text)
    if not isinstance(form, Number):
        return None
    value = algebra.sympy.Rational(form.value.numerator, form.value.denominator)
    return value * algebra.sympy.pi / 180 if form.degrees else value


def _same_value(reference: Number | Expression, answer: Number | Expression) -> Comparison:
    if _text(reference) and _text(reference) == _text(answer):
        return Comparison.EQUAL
    if isinstance(reference, Number) and reference.decimals is None and algebra.is_unfinished(_text(answer)):
        return Comparison.NOT_KNOWN
    if _surely_different(reference, answer):
        return Comparison.DIFFERENT
    a, b = as_sympy(reference), as_sympy(answer)
    if a is None or b is None:
        return Comparison.NOT_KNOWN
    old, new = _arguments(answer), _arguments(reference)
    if len(old) == len(new):
        b = algebra.renamed(b, old, new)
    if isinstance(reference, Number) and reference.decimals is not None:
        return _rounds_to_value(reference, b)
    if a.free_symbols != b.free_symbols:
        a, b = algebra.lower_case(a), algebra.lower_case(b)
        b = algebra.same_family(a, b)
    return Comparison.of(algebra.equal_values(a, b))


def _rounds_to_value(reference: Number, expression: Any) -> Comparison:
    """Whether the reference, a decimal, is the rounded value of an expression."""
    value = algebra.value_at(expression, {})
    if value is None:
        return Comparison.DIFFERENT if expression.free_symbols else Comparison.NOT_KNOWN
    if not value.is_real:
        return Comparison.DIFFERENT
    exact = Number(Fraction(str(value)).limit_denominator(10**30))
    return Comparison.of(rounds_to(reference, exact))


def _surely_different(reference: Number | Expression, answer: Number | Expression) -> bool:
    """Whether floating-point values show that two plain expressions differ."""
    if _arguments(reference) or _arguments(answer):
        return False
    a, b = _estimate(reference), _estimate(answer)
    rounding = 10.0**-reference.decimals if isinstance(reference, Number) and reference.decimals is not None else 0.0
    return a is not None and b is not None and a.differs_from(b, rounding)


def _estimate(form: Number | Expression) -> estimate.Estimate | None:
    if isinstance(form, Expression):
        return estimate.of_text(form.text)
    try:
        return None if form.degrees else estimate.of_number(float(form.value))
    except OverflowError:
        return None


def _text(form: AnswerForm) -> str:
    return form.text.replace(" ", "") if isinstance(form, Expression) else ""


def _arguments(form: AnswerForm) -> tuple[str, ...]:
    return form.arguments if isinstance(form, Expression) else ()


def is_within(form: AnswerForm, other: AnswerForm) -> bool:
    """Whether one answer's words are among the other's ("blue", "the blue one"), so that both may mean the same."""
    texts = [form.text.lower() if isinstance(form, Words | Expression) else "" for form in (form, other)]
    short, long = sorted(texts, key=len)
    return bool(re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long)) and bool(re.fullmatch(r"\w[\w ]+", short))
