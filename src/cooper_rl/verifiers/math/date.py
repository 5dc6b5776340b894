"""Days of the calendar as people write them: "Tues.", "Sept. 5", "Monday, the 3rd of March 2024", "2024-03-03"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cooper_rl.verifiers.math.markup import without_marks

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    "december",
)
_LONGER = {"Tues": "tuesday", "Weds": "wednesday", "Thur": "thursday", "Thurs": "thursday", "Sept": "september"}
ABBREVIATED = {name[:3].capitalize(): name for name in (*WEEKDAYS, *MONTHS)} | _LONGER

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
class Date:
    """What is said of a day: a part that is not said is "" or 0.

    `numeric`: written as 03/04/2024, which is the 4th of March to some and the 3rd of April to others.
    """

    weekday: str = ""
    day: int = 0
    month: int = 0
    year: int = 0
    numeric: bool = False


def date(text: str) -> Date | None:
    """The date that the whole of an undressed text is, or None; a weekday or a month alone is a word."""
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
            return Date(weekday, day, month, year, numeric and day <= 12 and day != month)
    return None


def date_of_word(text: str) -> Date | None:
    """A weekday or a month alone, in words of lower case."""
    if text in WEEKDAYS:
        return Date(weekday=text)
    return Date(month=MONTHS.index(text) + 1) if text in MONTHS else None


def equal_dates(reference: Date, answer: Date) -> bool | None:
    """Whether the answer is the reference's day; None if it leaves out a part, or its day may be its month."""
    if reference.numeric != answer.numeric:
        other = Date(answer.weekday, answer.month, answer.day, answer.year)
        readings = {_equal_parts(reference, answer), _equal_parts(reference, other)}
        return False if readings == {False} else None
    return _equal_parts(reference, answer)


def _equal_parts(reference: Date, answer: Date) -> bool | None:
    parts = [(getattr(reference, name), getattr(answer, name)) for name in ("weekday", "day", "month", "year")]
    if any(said and other and said != other for said, other in parts):
        return False
    return None if any(said and not other for said, other in parts) else True


def _name(text: str, names: tuple[str, ...]) -> str:
    """The one of the names that a word is, in full or short: "Sept" -> "september"; "" for any other word."""
    name = ABBREVIATED.get(text, text.lower())
    return name if name in names else ""


def _month(text: str) -> int:
    return int(text) if text.isdigit() else MONTHS.index(name) + 1 if (name := _name(text, MONTHS)) else 0
