"""Whether an answer says the same as the reference answer. Three values: None where the rules here cannot tell.

Symmetric in its two sides but for rounding: a rounded reference accepts an exact answer, never the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from cooper_rl.verifiers.math import algebra, estimate
from cooper_rl.verifiers.math.date import Date, date_of_word, equal_dates
from cooper_rl.verifiers.math.forms import (
    Expression,
    Form,
    Group,
    Interval,
    Intervals,
    Matrix,
    Relation,
    Words,
    as_intervals,
)
from cooper_rl.verifiers.math.number import Number, same_unit

_DECISIONS = {"true": "yes", "false": "no"}  # of a statement that is asked about
_VALUES_IN_WORDS = {"none", "nothing", "undefined", "infinite", "infinity", "infinitely", "all", "any", "empty", "half"}


def equal(reference: Form, answer: Form) -> bool | None:
    """Whether `answer` is what `reference` says."""
    reference, answer = _unwrapped(reference, answer), _unwrapped(answer, reference)
    if isinstance(reference, Number) and isinstance(answer, Number):
        return equal_numbers(reference, answer)
    if isinstance(reference, Date) or isinstance(answer, Date):
        return _equal_to_date(reference, answer)
    if isinstance(reference, Number | Expression) and isinstance(answer, Number | Expression):
        return _equal_expressions(reference, answer)
    if isinstance(reference, Words) and isinstance(answer, Words):
        return _equal_words(reference, answer)
    if isinstance(reference, Group) != isinstance(answer, Group) and _choices(reference) and _choices(answer):
        return _choices(reference) == _choices(answer)
    if isinstance(reference, Group) and isinstance(answer, Group):
        return _equal_groups(reference, answer)
    if isinstance(reference, Matrix) and isinstance(answer, Matrix):
        return _equal_matrices(reference, answer)
    if isinstance(reference, Relation) or isinstance(answer, Relation):
        if isinstance(reference, Number) or isinstance(answer, Number):
            return False
        return _equal_relations(_relation(reference, answer), _relation(answer, reference))
    if isinstance(reference, Intervals) or isinstance(answer, Intervals):
        left, right = as_intervals(reference), as_intervals(answer)
        if left is not None and right is not None:
            return _equal_unordered(left.parts, right.parts, equal_intervals)
    if isinstance(reference, Words) or isinstance(answer, Words):
        if any(isinstance(form, Number | Group | Intervals | Matrix) for form in (reference, answer)):
            return None if _may_name_a_value(reference) or _may_name_a_value(answer) else False
        return True if _letter(reference) and _letter(reference) == _letter(answer) else None
    return False


def _letter(form: Form) -> str:
    """A choice letter that may have been read as a variable."""
    return form.text.lower() if isinstance(form, Words | Expression) and len(form.text) == 1 else ""


def _may_name_a_value(form: Form) -> bool:
    """Words that another form may say, too: "no solution", "all real numbers", "infinitely many"; not "Monday"."""
    return isinstance(form, Words) and (" " in form.text or form.text in _VALUES_IN_WORDS)


def _choices(form: Form) -> frozenset[str] | None:
    """Several choice letters, listed or run together: "A, C" and "AC"."""
    if isinstance(form, Group) and all(_letter(item) for item in form.items):
        return frozenset(_letter(item) for item in form.items)
    if isinstance(form, Words | Expression) and re.fullmatch("[A-Ja-j]{2,6}", form.text):
        return frozenset(form.text.lower())
    return None


def _relation(form: Form, other: Form) -> Relation | None:
    """`y = 2x + 1` as an equation; a bare `2x + 1` is what the other's one unknown besides equals."""
    if isinstance(form, Relation):
        return form
    if not isinstance(form, Expression) or form.arguments:
        return None
    if not form.name and isinstance(other, Relation):
        sides = [_sympy(side) for side in (form, other.left, other.right)]  # type: ignore[arg-type]
        if None in sides:
            return None
        unknowns = (sides[1].free_symbols | sides[2].free_symbols) - sides[0].free_symbols
        return Relation("=", Expression(str(*unknowns)), form) if len(unknowns) == 1 else None
    return Relation("=", Expression(form.name), Expression(form.text)) if form.name else None


def _equal_relations(reference: Relation | None, answer: Relation | None) -> bool | None:
    if reference is None or answer is None:
        return None
    if reference.sign != answer.sign:
        return False
    sides = [_sympy(side) for form in (reference, answer) for side in (form.left, form.right)]  # type: ignore[arg-type]
    if any(side is None for side in sides):
        return None
    left, right, other_left, other_right = sides
    return algebra.proportional(left - right, other_left - other_right)


def equal_numbers(reference: Number, answer: Number) -> bool:
    """Exact, but for a rounded reference, a dropped percent sign or degree sign, and units of one kind."""
    if reference.clock and answer.clock:
        either = not reference.half_day or not answer.half_day or reference.half_day == answer.half_day
        return either and reference.clock == answer.clock
    if reference.base != answer.base:  # a bare numeral beside 1011_2 is one in the same base
        based, bare = (reference, answer) if reference.base else (answer, reference)
        return bare.base is None and based.value.denominator == 1 and _digits(based) == str(bare.value)
    values = same_unit(reference, answer)
    if values is None:
        return False
    a, b = values
    if reference.percent != answer.percent:
        percent, plain = (reference.value, b) if reference.percent else (answer.value, a)
        if abs(plain) >= 1 and plain == percent * 100:
            return True
    return a == b or rounds_to(reference, answer)


def _equal_to_date(reference: Form, answer: Form) -> bool | None:
    """Of two dates, or a date and a weekday, a month, or the number of its day or year."""
    if isinstance(reference, Number) and isinstance(answer, Date):
        return _is_part(reference, answer)
    if isinstance(reference, Date) and isinstance(answer, Number):
        return None if _is_part(answer, reference) else False
    sides = [date_of_word(form.text) if isinstance(form, Words) else form for form in (reference, answer)]
    dates = [side for side in sides if isinstance(side, Date)]
    if len(dates) == 2:
        return equal_dates(*dates)
    return None if isinstance(reference, Words) or isinstance(answer, Words | Expression) else False  # "3/3/24"


def _is_part(number: Number, date: Date) -> bool:
    return number.value in (date.day, date.year) and number.decimals is None and not number.unit and number.value != 0


def _digits(number: Number) -> str:
    """The digits of a whole number in its base."""
    value, digits = abs(int(number.value)), ""
    while value:
        value, digit = divmod(value, number.base or 10)
        digits = "0123456789abcdef"[digit] + digits
    return ("-" if number.value < 0 else "") + (digits or "0")


def rounds_to(reference: Number, answer: Number) -> bool:
    """Whether the reference is the answer, rounded; or the answer the reference's with one or more digits less.

    A written decimal is a rounded value where the answer has more digits than it or is a fraction. The other way needs
    four significant digits in the answer, or three and three decimals in the reference: 165.5 for 165.47.
    """
    if reference.decimals is None:
        return False
    decimals = reference.decimals + 2 * reference.percent
    answer_decimals = None if answer.decimals is None else answer.decimals + 2 * answer.percent
    difference = abs(reference.value - answer.value)
    if answer_decimals is None and answer.value.denominator == 1:
        answer_decimals = 0
    if answer_decimals is None or answer_decimals > decimals:
        return difference <= Fraction(1, 2 * 10**decimals)
    digits = len(str(abs(answer.value.numerator * 10**answer_decimals // answer.value.denominator)))
    enough = digits >= 4 or (digits >= 3 and decimals >= 3)
    return enough and 0 < answer_decimals < decimals and difference <= Fraction(1, 2 * 10**answer_decimals)


def _equal_expressions(reference: Number | Expression, answer: Number | Expression) -> bool | None:
    if _text(reference) and _text(reference) == _text(answer):
        return True
    if isinstance(reference, Number) and reference.decimals is None and algebra.is_unfinished(_text(answer)):
        return None
    if _surely_different(reference, answer):
        return False
    a, b = _sympy(reference), _sympy(answer)
    if a is None or b is None:
        return None
    old, new = _arguments(answer), _arguments(reference)
    if len(old) == len(new):
        b = algebra.renamed(b, old, new)
    if isinstance(reference, Number) and reference.decimals is not None:
        value = algebra.value_at(b, {})
        if value is None:
            return False if b.free_symbols else None
        if not value.is_real:
            return False
        exact = Number(Fraction(str(value)).limit_denominator(10**30))
        return rounds_to(reference, exact)
    if a.free_symbols != b.free_symbols:
        a, b = algebra.lower_case(a), algebra.lower_case(b)
        b = algebra.same_family(a, b)
    return algebra.equal_values(a, b)


def _surely_different(reference: Number | Expression, answer: Number | Expression) -> bool:
    """Whether two plain expressions differ so much in value that nobody needs to look closer."""
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


def _text(form: Form) -> str:
    return form.text.replace(" ", "") if isinstance(form, Expression) else ""


def _arguments(form: Form) -> tuple[str, ...]:
    return form.arguments if isinstance(form, Expression) else ()


def _sympy(form: Number | Expression) -> Any:
    """A sympy expression, or None."""
    if isinstance(form, Expression):
        return algebra.parsed(form.text)
    value = algebra.sympy.Rational(form.value.numerator, form.value.denominator)
    return value * algebra.sympy.pi / 180 if form.degrees else value


def is_within(form: Form, other: Form) -> bool:
    """Whether the one's words are among the other's, which may say the same or its opposite: "blue", "the blue one"."""
    texts = [form.text.lower() if isinstance(form, Words | Expression) else "" for form in (form, other)]
    short, long = sorted(texts, key=len)
    return bool(re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long)) and bool(re.fullmatch(r"\w[\w ]+", short))


def _equal_words(reference: Words, answer: Words) -> bool | None:
    if _DECISIONS.get(reference.text, reference.text) == _DECISIONS.get(answer.text, answer.text):
        return True
    return False if reference.closed and answer.closed else None


def _unwrapped(form: Form, other: Form) -> Form:
    """A set or list of one answer, be it named twice, beside a single answer."""
    if isinstance(form, Group) and form.kind != "tuple" and len(set(form.items)) == 1 and not isinstance(other, Group):
        return form.items[0]
    return form


def _equal_groups(reference: Group, answer: Group) -> bool | None:
    if len(reference.items) != len(answer.items):
        return False
    if len(set(reference.names)) > 1 and sorted(reference.names) == sorted(set(answer.names)):
        by_name = dict(zip(answer.names, answer.items, strict=True))
        return _both(*(equal(item, by_name[name]) for name, item in zip(reference.names, reference.items, strict=True)))
    if "tuple" in (reference.kind, answer.kind):
        if reference.kind != answer.kind and "set" in (reference.kind, answer.kind):
            return False
        return _both(*(equal(a, b) for a, b in zip(reference.items, answer.items, strict=True)))
    same = _equal_unordered(reference.items, answer.items, equal)
    return None if same and _ordered_words(reference) and reference.items != answer.items else same


def _ordered_words(group: Group) -> bool:
    """A list of words, of which only the question says whether they are to be in order."""
    return group.kind == "list" and all(isinstance(item, Words) and len(item.text) > 1 for item in group.items)


def _equal_unordered(
    reference: Sequence[Any], answer: Sequence[Any], same: Callable[[Any, Any], bool | None]
) -> bool | None:
    """Each of the one equals another of the other."""
    if len(reference) != len(answer):
        return False
    left, unknown = list(answer), False
    for item in reference:
        verdicts = [same(item, other) for other in left]
        if True in verdicts:
            left.pop(verdicts.index(True))
        elif None in verdicts:
            unknown = True
        else:
            return False
    return None if unknown else True


def equal_intervals(reference: Interval, answer: Interval) -> bool | None:
    """The same ends, open or closed alike."""
    if (reference.low_closed, reference.high_closed) != (answer.low_closed, answer.high_closed):
        return False
    return _both(_equal_ends(reference.low, answer.low), _equal_ends(reference.high, answer.high))


def _equal_ends(reference: Form | None, answer: Form | None) -> bool | None:
    if reference is None or answer is None:
        return reference is answer
    return equal(reference, answer)


def _equal_matrices(reference: Matrix, answer: Matrix) -> bool | None:
    shape = [len(row) for row in reference.rows]
    if shape != [len(row) for row in answer.rows]:
        return False
    cells = zip((c for row in reference.rows for c in row), (c for row in answer.rows for c in row), strict=True)
    return _both(*(equal(a, b) for a, b in cells))


def _both(*verdicts: bool | None) -> bool | None:
    """All of them, in three values."""
    if False in verdicts:
        return False
    return None if None in verdicts else True
