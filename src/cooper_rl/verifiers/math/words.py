"""Answers in words: a choice letter, yes or no, a name, a sentence, and days of the calendar as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.form import AnswerForm, Comparison, Read
from cooper_rl.verifiers.math.markup import CHOICE_LABEL, CLOSE, OPEN, without_marks
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.math.phrases import looks_mathematical

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_LONGER = {"Tues": "tuesday", "Weds": "wednesday", "Thur": "thursday", "Thurs": "thursday", "Sept": "september"}
ABBREVIATED = {name[:3].capitalize(): name for name in (*WEEKDAYS, *MONTHS)} | _LONGER
# Words of one family exclude each other: who answers "Monday" does not mean Tuesday.
_FAMILIES = tuple(
    frozenset(words)
    for words in (
        "abcdefghij",
        ("yes", "no", "true", "false"),
        ("even", "odd"),
        ("left", "right"),
        ("increasing", "decreasing"),
        WEEKDAYS,
        MONTHS,
    )
)
_OTHER_KINDS = ("number", "intervals", "matrix")
_KNOWN = frozenset().union(*_FAMILIES, ("none", "undefined", "infinity"))
_DECISION = re.compile(r"yes|no|true|false", re.IGNORECASE)
_MAX_REPEATED = 4  # words after a decision that say it again: "No, it is not"
_SAME_DECISION = {"true": "yes", "false": "no"}  # for questions whether a statement is true
_CHOICE = re.compile(rf"{CHOICE_LABEL}\(?(?P<letter>[A-J])\)?(?:[.:)] .*)?")
_LEAD = re.compile(  # removed from the front: "It falls on a Tuesday" becomes "Tuesday"
    r"^(?:(?:it|this|that) )?(?:(?:is|was|falls|fell|will be) )?(?:on )?(?:(?:the|a|an) )?", re.IGNORECASE
)
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
        rf"(?P<day>\d\d?)\.(?P<month>\d\d?)\.{_YEAR}",
        rf"(?P<month>\d\d?)(?P<sign>[-/])(?P<day>\d\d?)(?P=sign){_YEAR}",
    )
)


@dataclass(frozen=True, slots=True)
class Words(AnswerForm):
    """Words in lower case, without punctuation. A choice is kept as its letter."""

    kind: ClassVar[str] = "words"
    library_decides: ClassVar[bool] = True
    text: str
    reason: str = ""

    @classmethod
    def parse(cls, text: str, read: Read) -> Words | None:
        """Reads a choice, a marked or known word, or a text without mathematics. "No, it is not" becomes "no"."""
        if "\\begin" in text:  # cases, whose signs are no punctuation
            return cls(text.lower())
        if is_decision(without_marks(text)):
            decision, _, rest = without_marks(text).partition(",")
            return cls(decision.strip().lower(), rest if len(rest.split()) > _MAX_REPEATED else "")
        words = without_marks(text)
        choice = _CHOICE.fullmatch(words)
        if choice:
            return cls(choice.group("letter").lower())
        marked = OPEN in text and re.fullmatch(rf"\s*{OPEN}[^{CLOSE}]*{CLOSE}\s*", text)
        known = words in ABBREVIATED or (words.lower() in _KNOWN and len(words) > 1)
        found = cls._of(words) if marked or known else None
        return found or (None if looks_mathematical(text) else cls._of(words))

    @classmethod
    def _of(cls, words: str) -> Words | None:
        words = _LEAD.sub("", words)
        words = ABBREVIATED.get(words, words).lower()
        return cls(re.sub(r"[^\w\s#@+|<>=]", "", words).strip()) if re.search(r"[a-z]", words) else None

    def compare(self, answer: AnswerForm) -> Comparison:
        """Compares with other words; "true" equals "yes". DIFFERENT only for two words of one family.

        A decision is open where the reference asks for its reason too: "No, string is an insulator".
        """
        if not isinstance(answer, Words):
            return self.compare_as_answer(answer)
        if self.reason and self.text == answer.text:
            return Comparison.OPEN
        if _SAME_DECISION.get(self.text, self.text) == _SAME_DECISION.get(answer.text, answer.text):
            return Comparison.EQUAL
        apart = any({self.text, answer.text} <= family for family in _FAMILIES)
        return Comparison.DIFFERENT if apart else Comparison.NOT_KNOWN

    def compare_as_answer(self, reference: AnswerForm) -> Comparison:
        """OPEN between a single word and a number, say. NOT_KNOWN for words that may name a value, as "no solution"."""
        one_word = " " not in self.text and reference.kind in _OTHER_KINDS
        return Comparison.OPEN if one_word else Comparison.NOT_KNOWN


def is_decision(text: str) -> bool:
    """Whether a text begins with a decision, such as yes or no, and a comma: "No, it is not"."""
    decision, comma, _ = text.partition(",")
    return bool(comma and _DECISION.fullmatch(decision.strip()))


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
        """Reads a date. A weekday or a month alone is not a date; `Words` reads it."""
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
