"""Intervals, unions of them, and inequalities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.expression import Expression
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read, all_equal, compare, compare_unordered
from cooper_rl.verifiers.math.group import AnswerTuple, Group, Matrix
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, bracketed_parts, split_top
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import COMPARISON_SIGN, CONDITION, is_name
from cooper_rl.verifiers.math.words import Date

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
    parts = [part.strip() for part in bracketed_parts(text)]
    infinite = [_INFINITE.fullmatch(part) for part in parts]
    if len(parts) != 2 or not (text[0] == "[" or text[-1] == "]" or any(infinite)):
        return None
    if any(none and (none["sign"] == "-") is not low for none, low in zip(infinite, (True, False), strict=True)):
        return None  # from infinity to 0
    bounds = [None if none else read(part) for none, part in zip(infinite, parts, strict=True)]
    if any(bound is None and not none for none, bound in zip(infinite, bounds, strict=True)):
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
        low, high = read(sides[0]), read(sides[2])
        if low is not None and high is not None:
            return Interval(low, high, signs[0].endswith("="), signs[1].endswith("="))
    return None


def _one_bound(left: str, sign: str, right: str, read: Read) -> Interval | None:
    if not is_name(left) or (is_name(right) and right < left):  # q < b is b > q
        left, right, sign = right, left, _TURNED[sign]
    bound = read(right)
    if not is_name(left) or bound is None:
        return None
    if sign.startswith("<"):
        return Interval(None, bound, False, sign == "<=")
    return Interval(bound, None, sign == ">=", False)
