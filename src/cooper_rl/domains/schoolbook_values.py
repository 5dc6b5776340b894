"""The value that a completion ends in: a number, a duration or a weekday, in the writings of a pretrained model.

This reading is apart from the rule verifier's, so that it can tell what the rule misses. It takes the last sentence
with a value. Of an equation the right side counts. The question's own values count only where there is no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from cooper_rl.verifiers.math.numerals import NUMBER_WORDS, in_words
from cooper_rl.verifiers.math.words import ABBREVIATED, WEEKDAYS

_HEDGE = re.compile(r"\b(?:or|maybe|either|could be|might be)\b", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox) ?\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_SENTENCE = re.compile(r"(?<=[^\d\s])[.!?](?:\s|$)|(?<=\d)\.(?:\s|$)|\n")
_WORDS = rf"(?:(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[ -](?:and )?)?)+\b"
_HOURS, _MINUTES = r"\s*-?\s*(?:hours?|hrs?|h)", r"\s*-?\s*(?:minutes?|mins?|m)"


@dataclass(frozen=True)
class Value:
    """A kind of value: the pattern that finds it in a text, and its reading in the generator's writing or None."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], str | None]

    def all_in(self, text: str) -> list[str]:
        """The values of a text, in their order."""
        return [value for found in self.pattern.finditer(text) if (value := self.read(found)) is not None]


def _number(found: re.Match[str]) -> str | None:
    if found["words"]:
        said = in_words(found["words"].strip(" -"))
        text = None if said is None else str(said[0])
    else:
        text = found["digits"].replace(",", "").rstrip(".")
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"-{text}" if text and found["sign"] and text != "0" else text


def _duration(found: re.Match[str]) -> str | None:
    hours, minutes = found["hours"] or found["clock_hours"], found["minutes"] or found["more"] or found["clock_minutes"]
    total = 60 * int(hours or 0) + int(minutes or 0)
    return f"{total // 60:02}:{total % 60:02}"


def _weekday(found: re.Match[str]) -> str | None:
    name = ABBREVIATED.get(found.group(), found.group().lower().removesuffix("s"))
    return name.capitalize() if name in WEEKDAYS else None


VALUES = {
    "number": Value(
        re.compile(
            r"(?P<sign>(?:minus|negative) |(?<![\w)])[-\u2212](?=\d)|(?:^|(?<==)) ?[-\u2212] )?"
            rf"(?:(?P<digits>\d[\d,]*(?:\.\d+)?)|\b(?P<words>{_WORDS}))",
            re.IGNORECASE,
        ),
        _number,
    ),
    "time_intervals": Value(
        re.compile(
            rf"(?P<hours>\d{{1,2}}){_HOURS}\b(?:,? ?(?:and )?(?P<more>\d{{1,2}}){_MINUTES}\b)?"
            rf"|(?P<minutes>\d{{1,4}}){_MINUTES}\b"
            r"|(?<![\d:])(?P<clock_hours>\d{1,2}):(?P<clock_minutes>\d\d)(?!\d)",
            re.IGNORECASE,
        ),
        _duration,
    ),
    "calendar_arithmetic": Value(
        re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?\b", re.IGNORECASE), _weekday
    ),
}


def stated(kind: Value, question: str, completion: str) -> str | None:
    """The one value that the completion ends in; None if it ends in none, or in several.

    A box counts before all else. The question's own values count where its last sentence has no other.
    """
    candidates = _BOX.findall(completion)[-1:] or reversed(_SENTENCE.split(completion))
    closing = next((text for text in candidates if kind.all_in(text)), None)
    if closing is None:
        return None
    right_side = closing.rpartition("=")[2]
    closing = right_side if kind.all_in(right_side) else closing
    values = kind.all_in(closing)
    given = set(kind.all_in(question))
    others = list(dict.fromkeys(value for value in values if value not in given)) or values[-1:]
    hedged = len(set(values)) > 1 and _HEDGE.search(closing)
    return others[0] if len(others) == 1 and not hedged else None
