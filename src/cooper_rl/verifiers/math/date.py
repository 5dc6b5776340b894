"""Days of the calendar as people write them: "Tues.", "Sept. 5", "Monday, the 3rd of March 2024", "2024-03-03"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.day_names import ABBREVIATED, MONTHS, WEEKDAYS
from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import without_marks
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.words import Words

_WEEKDAY = r"(?:(?P<weekday>[A-Za-z]{3,9})[.,]{0,2} )?"
_DAY = r"(?:the )?(?P<day>\d{1,2})(?: ?\^? ?\{?(?:st|nd|rd|th)\}?)?"
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_YEAR = r"(?P<year>[12]\d{3})"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_WEEKDAY}{_MONTH} {_DAY}(?:,? {_YEAR})?",
        rf"{_WEEKDAY}{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?",
        rf"{_MONTH}(?:,| of)? {_YEAR}",
        rf"{_YEAR}(?P<sign>[-/])(?P<month>\d\d)(?P=sign)(?P<day>\d\d)",
        rf"(?P<month>\d\d?)(?P<sign>[-/])(?P<day>\d\d?)(?P=sign){_YEAR}",
    )
)


@dataclass(frozen=True, slots=True)
class Date(AnswerForm):
    """A date, or a part of one. A part that is not given is "" or 0.

    `numeric` is true for 03/04/2024, which may be the 4th of March or the 3rd of April.
    """

    kind: ClassVar[str] = "date"
    weekday: str = ""
    day: int = 0
    month: int = 0
    year: int = 0
    numeric: bool = False

    @classmethod
    def parse(cls, text: str, read: Read) -> Date | None:
        """Reads a date. A weekday or a month alone is not a date; `words.Words` reads it."""
        plain = without_marks(text)
        for pattern in _PATTERNS:
            found = pattern.fullmatch(plain)
            if not found:
                continue
            parts = found.groupdict("")
            weekday, month = _name(parts.get("weekday", ""), WEEKDAYS), _month(parts["month"])
            if not month or bool(weekday) != bool(parts.get("weekday")):
                continue
            day, year = int(parts.get("day") or 0), int(parts["year"] or 0)
            numeric = pattern is _PATTERNS[-1]
            if numeric and month > 12:
                day, month = month, day
            if day <= 31 and month <= 12 and (day or "day" not in parts):
                return cls(weekday, day, month, year, numeric and day <= 12 and day != month)
        return None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares with a date, or the word for a day or month."""
        if isinstance(answer, Number):
            return Comparison.OPEN
        other = _date_of_word(answer.text) if isinstance(answer, Words) else answer
        return self._same_day(other) if isinstance(other, Date) else Comparison.NOT_KNOWN

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """EQUAL where the reference is the number of the date's day or year: the date says more than was asked."""
        if isinstance(reference, Number):
            return Comparison.EQUAL if self._has_part(reference) else Comparison.OPEN
        day = _date_of_word(reference.text) if isinstance(reference, Words) else None
        return day._same_day(self) if day else Comparison.NOT_KNOWN

    def _has_part(self, number: Number) -> bool:
        whole = number.decimals is None and not number.unit and number.value != 0
        return whole and number.value in (self.day, self.year)

    def _same_day(self, answer: Date) -> Comparison:
        """Compares two dates. NOT_KNOWN if the answer leaves out a part, or if day and month may be swapped."""
        if self.numeric != answer.numeric:
            other = Date(answer.weekday, answer.month, answer.day, answer.year)
            different = self._same_parts(answer) is self._same_parts(other) is Comparison.DIFFERENT
            return Comparison.DIFFERENT if different else Comparison.NOT_KNOWN
        return self._same_parts(answer)

    def _same_parts(self, answer: Date) -> Comparison:
        parts = [(getattr(self, name), getattr(answer, name)) for name in ("weekday", "day", "month", "year")]
        if any(said and other and said != other for said, other in parts):
            return Comparison.DIFFERENT
        return Comparison.NOT_KNOWN if any(said and not other for said, other in parts) else Comparison.EQUAL


def _date_of_word(text: str) -> Date | None:
    """The date of a text in lower case that is a weekday or a month alone; None for any other text."""
    if text in WEEKDAYS:
        return Date(weekday=text)
    return Date(month=MONTHS.index(text) + 1) if text in MONTHS else None


def _name(text: str, names: tuple[str, ...]) -> str:
    """The name that a word stands for, in full or short ("Sept" -> "september"); "" for any other word."""
    name = ABBREVIATED.get(text, text.lower())
    return name if name in names else ""


def _month(text: str) -> int:
    """The number of a month, from its numeral or name; 0 if the text is neither."""
    if text.isdigit():
        return int(text)
    name = _name(text, MONTHS)
    return MONTHS.index(name) + 1 if name else 0
