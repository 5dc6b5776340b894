"""The values that a text mentions, of one kind: people, places, dates, times of day, amounts or family relations.

This reading knows the passage, and is apart from the rule verifier's. So it can tell what the rule misses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from cooper_rl.verifiers.math.numerals import NUMBER_WORDS, in_words
from cooper_rl.verifiers.math.words import MONTHS
from studies.passages.wordings import (
    FIRST_NAMES,
    ORDINALS,
    SITES,
    SURNAMES,
    TITLES,
    TOWNS,
    UNITS,
    Person,
    of_place,
)

_FLAGS = re.IGNORECASE | re.ASCII
_ANY_ORDER = sorted(ORDINALS, key=len, reverse=True)
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|{'|'.join(name[:3] for name in MONTHS if len(name) > 4)}|sept)\b\.?"
_DAY = rf"(?P<day>\d{{1,2}}(?:st|nd|rd|th)?|{'|'.join(_ANY_ORDER)}|{'|'.join(_ANY_ORDER).replace('-', ' ')})"
_DATES = (
    re.compile(rf"(?<![\d/-])\b(?:the )?{_DAY}(?: day)?(?: of)? {_MONTH}", _FLAGS),
    re.compile(rf"\b{_MONTH} (?:the )?{_DAY}(?![\w/:])", _FLAGS),
    re.compile(r"(?<![\d/])(?P<one>\d{1,2})/(?P<other>\d{1,2})(?![\d/])"),
)
_HOUR_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_MINUTE_WORDS = {
    **{"oh five": 5, "o five": 5, "ten": 10, "fifteen": 15, "twenty-five": 25, "twenty five": 25, "twenty": 20},
    **{"thirty-five": 35, "thirty five": 35, "thirty": 30, "forty-five": 45, "forty five": 45, "forty": 40},
    **{"fifty-five": 55, "fifty five": 55, "fifty": 50},
}
_PARTS = {"quarter": 15, "half": 30, "five": 5, **_MINUTE_WORDS}
_HOUR = rf"(?P<hour>\d{{1,2}}|{'|'.join(_HOUR_WORDS)})"
_MARK = r"(?:\s*(?P<mark>a\.?m\b\.?|p\.?m\b\.?)|,? (?P<part>in the (?:morning|afternoon|evening)|at night))"
_TIMES = (
    re.compile(rf"(?<![\d:.])(?P<hour>\d{{1,2}})[:.h](?P<minute>\d\d)(?![\d:]){_MARK}?", _FLAGS),
    re.compile(
        rf"\b{_HOUR}(?: ?o['’ ]?clock\b{_MARK.replace('mark', 'mark1').replace('part', 'part1')}?|{_MARK})", _FLAGS
    ),
    re.compile(
        rf"(?<!from )\b(?P<off>{'|'.join(_PARTS)}|\d{{1,2}})(?: minutes)? (?P<way>past|to) {_HOUR}\b{_MARK}?", _FLAGS
    ),
    re.compile(rf"\b(?P<hour>{'|'.join(_HOUR_WORDS)})[ -](?P<said>{'|'.join(_MINUTE_WORDS)})\b{_MARK}?", _FLAGS),
)
_WORDS = rf"(?:(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b(?:[ -](?:and )?(?=\w))?)+"
_NUMBER = rf"(?:(?<![\d.,])(?P<digits>(?:(?<!\w)[-\u2212])?\d[\d,]{{0,12}}(?:\.\d+)?)(?![\d%])|\b(?P<words>{_WORDS}))"
_UNIT_NAMES = {name: unit for unit, names in UNITS.items() for name in (*names.names, names.symbol, names.code) if name}
_AFTER = "|".join(re.escape(name) for name in sorted(_UNIT_NAMES, key=len, reverse=True))
_BEFORE = "|".join(re.escape(text) for unit in UNITS.values() for text in (unit.symbol, unit.code) if text)
_AMOUNT = re.compile(rf"(?:(?P<before>{_BEFORE})\s?)?{_NUMBER}(?:[ -]?(?P<after>{_AFTER})(?!\w))?", _FLAGS)
RELATIVES = {
    **{"mother": "mother", "mom": "mother", "mum": "mother", "father": "father", "dad": "father"},
    **{"grandmother": "grandmother", "grandma": "grandmother", "granny": "grandmother", "gran": "grandmother"},
    **{"grandfather": "grandfather", "grandpa": "grandfather", "granddad": "grandfather", "grandad": "grandfather"},
    **{"auntie": "aunt", "kid": "child", "mommy": "mother", "daddy": "father"},
    **{
        word: word
        for word in (
            *(
                "uncle",
                "aunt",
                "cousin",
                "nephew",
                "niece",
                "brother",
                "sister",
                "son",
                "daughter",
                "grandson",
                "parent",
            ),
            *(
                "granddaughter",
                "husband",
                "wife",
                "grandparent",
                "grandchild",
                "child",
                "sibling",
                "spouse",
                "stepmother",
            ),
            *("stepfather", "stepbrother", "stepsister", "half-brother", "half-sister", "neighbour", "neighbor"),
            *("teacher", "friend", "doctor", "boss", "coach", "great-aunt", "great-uncle"),
        )
    },
}
_RELATIVE = re.compile(
    rf"\b(?P<word>(?:great[- ]|step[- ]?|half[- ])?(?:{'|'.join(sorted(RELATIVES, key=len, reverse=True))}))"
    r"(?P<law>[- ]in[- ]law)?s?\b(?!(?:['’]s)? side)",
    _FLAGS,
)
_CAPITAL = re.compile(r"(?<![.!?:\n\"(] )(?<!^)(?<![\n\"(\w'’])[A-Z][a-z’']+(?:-[A-Z][a-z]+)?")


class Mention(NamedTuple):
    """A value at a place of a text."""

    start: int
    end: int
    value: str


Known = Mapping[str, Any]


def mentions(kind: str, text: str, known: Known) -> list[Mention]:
    """The values of a kind in a text, in their order. Of two that overlap the longer one counts.

    Args:
        known: what the passage says; its field `text` is the passage with its question.
    """
    found = sorted(_FINDERS[kind](text, known), key=lambda each: (each.start - each.end, each.start))
    kept: list[Mention] = []
    for each in found:
        if each.value and not any(each.start < other.end and other.start < each.end for other in kept):
            kept.append(each)
    return sorted(kept)


def _dates(text: str, known: Known) -> Iterator[Mention]:
    for pattern in _DATES[:2]:
        for found in pattern.finditer(text):
            month = next(i for i, name in enumerate(MONTHS, 1) if name.startswith(found["month"].lower()[:3]))
            said = found["day"].lower().replace(" ", "-")
            day = ORDINALS.get(said) or int(re.sub(r"\D", "", said) or 0)
            yield Mention(*found.span(), f"{month:02}-{day:02}")
    for found in _DATES[2].finditer(text):
        one, other = int(found["one"]), int(found["other"])
        plain = one == other or max(one, other) > 12  # else it may be either
        yield Mention(*found.span(), f"{min(one, other):02}-{max(one, other):02}" if plain else "either")


def _times(text: str, known: Known) -> Iterator[Mention]:
    for pattern in _TIMES:
        for found in pattern.finditer(text):
            groups = {name.rstrip("1"): value for name, value in found.groupdict().items() if value}
            hour = _number_of(groups["hour"])
            minute = int(groups.get("minute", _MINUTE_WORDS.get(groups.get("said", "").lower(), 0)))
            if "off" in groups:
                off = _PARTS.get(groups["off"].lower()) or int(groups["off"])
                hour, minute = (hour, off) if groups["way"].lower() == "past" else (hour - 1, 60 - off)
            marks = f"{groups.get('mark', '')} {groups.get('part', '')}".lower().replace(".", "")
            half = "am" if "am" in marks or "morning" in marks else "pm" if marks.strip() else ""
            half = "pm" if 12 < hour < 24 else half
            yield Mention(*found.span(), f"{hour % 12:02}:{minute:02}{half}")


def _number_of(text: str) -> int:
    return int(text) if text.isdigit() else _HOUR_WORDS.index(text.lower()) + 1


def _amounts(text: str, known: Known) -> Iterator[Mention]:
    """Amounts with their unit. A bare number beside them has the unit of the first, unless it is a lone `one`."""
    found = [(each, _quantity(each)) for each in _AMOUNT.finditer(text)]
    units = [unit for each, _ in found if (unit := _unit(each))]
    for each, number in found:
        if number and units and (_unit(each) or number != "1"):
            yield Mention(*each.span(), f"{number} {_unit(each) or units[0]}")


def _quantity(found: re.Match[str]) -> str:
    if found["words"]:
        said = in_words(found["words"].strip(" -").lower())
        return "" if said is None else str(said[0])
    digits = str(found["digits"]).replace(",", "").replace("\u2212", "-")
    return digits.rstrip("0").rstrip(".") if "." in digits else str(int(digits))


def _unit(found: re.Match[str]) -> str:
    names = [name for name in (found["before"], found["after"]) if name]
    return next((unit for name, unit in _UNIT_NAMES.items() if names and name.lower() == names[0].lower()), "")


def _people(text: str, known: Known) -> Iterator[Mention]:
    """People of the passage by any name that fits one of them only. Another name is another person."""
    people = [Person(*row) for row in known["people"]]
    for who in people:
        same = [other for other in people if other.last == who.last]
        titled = [
            f"{title}\\.? {who.last}"
            for title in TITLES[who.gender]
            if not any(other != who and other.gender == who.gender for other in same)
        ]
        names = [f"{who.first} {who.last}", f"{who.last}, {who.first}", who.first, *titled]
        names += [who.last] if len(same) == 1 else []
        for title in {title for titles in TITLES.values() for title in titles}:
            names.append(f"{title}\\.? {who.full}") if title in TITLES[who.gender] else None
        yield from _named(names, text, who.full)
    yield from _named([*SURNAMES, *FIRST_NAMES["f"], *FIRST_NAMES["m"]], text, "another")
    yield from _named([rf"(?:Mrs|Ms|Mr|Miss|Dr)\b\.? {name}" for name in SURNAMES], text, "another")
    yield from _capitals(text, known)


def _places(text: str, known: Known) -> Iterator[Mention]:
    for value in (*SITES, *TOWNS):
        names = sorted(of_place(value), key=len, reverse=True)
        yield from _named([name.removeprefix("the ") for name in names], text, value)
    yield from _capitals(text, known)


def _named(names: Iterable[str], text: str, value: str) -> Iterator[Mention]:
    pattern = _alternatives(tuple(names))
    yield from (Mention(*found.span(), value) for found in pattern.finditer(text))


@cache
def _alternatives(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(names, key=len, reverse=True))})(?!\w)", _FLAGS)


def _capitals(text: str, known: Known) -> Iterator[Mention]:
    """Names that the passage does not have: words with a capital within a sentence."""
    told = set(re.findall(r"\w+", known["text"]))
    for found in _CAPITAL.finditer(text):
        word = re.split(r"['’]s?\b", found.group())[0]
        if word not in told and word not in ("Mr", "Ms", "Mrs", "Miss", "City", "Town", "Who", "Where"):
            yield Mention(*found.span(), "another")


def _relatives(text: str, known: Known) -> Iterator[Mention]:
    """Relations. A description by two steps, such as his mother's brother, is the answer."""
    name, (near, far) = known["roles"]["to"], known["steps"]
    one, other = (
        "(?:" + "|".join([word, *(w for w, plain in RELATIVES.items() if plain == word and w != word)]) + ")"
        for word in (near, far)
    )
    whose = rf"(?:his|her|their|{name}['’]s)"
    described = rf"\b{whose} {one}['’]s {other}\b|\b{other} of (?:{whose} {one}|the {one} of {name})\b"
    described += rf"|\b{one}['’]s {other}\b"
    for found in re.finditer(described, text, _FLAGS):
        yield Mention(*found.span(), known["value"])
    for found in _RELATIVE.finditer(text):
        word = found["word"].lower()
        plain = RELATIVES.get(word, word)
        yield Mention(*found.span(), f"{plain}-in-law" if found["law"] else plain)


_FINDERS: Mapping[str, Callable[[str, Known], Iterable[Mention]]] = {
    "person": _people,
    "place": _places,
    "date": _dates,
    "time": _times,
    "amount": _amounts,
    "kinship": _relatives,
}


def same(kind: str, value: str, found: str) -> bool:
    """Whether a value that was found is the answer. A time without its half of the day fits both halves."""
    if kind != "time":
        return found == value
    hour, minute = map(int, value.split(":"))
    return found in (f"{hour % 12:02}:{minute:02}", f"{hour % 12:02}:{minute:02}{'am' if hour < 12 else 'pm'}")
