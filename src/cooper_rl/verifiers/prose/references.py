"""The ways to say a reference answer: without its brackets, its title or a middle name, or in another order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from cooper_rl.verifiers.math.form import AnswerForm, Comparison, compare
from cooper_rl.verifiers.math.number import Number
from cooper_rl.verifiers.prose.writing import Written, tokenize

KEPT = 16_384  # references that are cached: each of a data set comes again with every completion
MAX_PARTS = 6  # of a list
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_LEAD = frozenset(
    ("in", "on", "at", "by", "from", "to", "with", "for", "during", "since", "around", "about", "approximately")
)
_TITLES = frozenset(
    (
        *("mr", "mrs", "ms", "miss", "dr", "sir", "dame", "lord", "lady", "president", "king", "queen", "prince"),
        *("princess", "emperor", "pope", "saint", "st", "professor", "prof", "general", "gen", "captain", "senator"),
        *("governor", "chief", "justice", "actor", "actress", "singer"),
    )
)
_NO_SURNAME = frozenset(("jr", "sr", "ii", "iii", "iv"))
_PARTS = ("season", "series", "episode", "chapter", "volume", "book", "grade", "edition", "amendment", "century")
_KIND_FIRST = re.compile(rf"(?P<kind>{'|'.join(_PARTS)}) (?P<number>\d{{1,3}})", re.IGNORECASE)
_TIME = re.compile(r"(?P<hour>\d\d?)(?::(?P<minutes>[0-5]\d))?(?: ?(?P<half>[ap])\.? ?m\.?)?", re.IGNORECASE)
_PART_OF_NAME = re.compile(r"(?:[^\W\d_]|['’-]){2,}")
_LAST_JOINT = re.compile(r"\band\b|&", re.IGNORECASE)
_LIST = re.compile(r"\s*(?:,\s*and|,|\band\b|&)\s+", re.IGNORECASE)


@lru_cache(maxsize=KEPT)
def ways_to_say(reference: str) -> tuple[str, ...]:
    """The keys (`writing.Written.joined`) under which a text may have the reference, without empty ones."""
    bare = _BRACKETS.sub("", reference).strip()
    ways = {
        reference,
        bare,
        without_lead(bare),
        _turn_name(bare),
        _turn_number(bare),
        *_times(bare),
        *_shorter_names(bare),
    }
    keys = dict.fromkeys(tokenize(way).joined for way in sorted(ways, key=len, reverse=True) if way)
    return tuple(key for key in keys if key)


@lru_cache(maxsize=KEPT)
def parts(reference: str) -> tuple[str, ...]:
    """The keys of the items of a reference that is a list of names; empty for any other one."""
    text = _BRACKETS.sub("", reference).strip(" .")
    items = _LIST.split(text)
    if not 2 <= len(items) <= MAX_PARTS or not _LAST_JOINT.search(text):
        return ()
    sizes = [len(item.split()) for item in items]
    alike = len(set(sizes)) == 1 or sizes[-1] <= sizes[0]  # not "India and Pakistan Border"
    names = all(item[:1].isupper() or item[:1].isdigit() for item in items)
    keys = tuple(dict.fromkeys(tokenize(item).joined for item in items))
    return keys if alike and names and all(keys) and len(keys) == len(items) else ()


def dates_of(reference: str, whole: Written) -> Iterator[tuple[int, int]]:
    """The places of dates that say the reference's date, or one whose year it is: March 3, 2024 for March 2024."""
    gold, year = _day_or_year(reference)
    for index, token in enumerate(whole.tokens if gold else ()):
        same = gold is not None and token.date is not None and compare(gold, token.date) is Comparison.EQUAL
        if same and (year is None or (token.date is not None and token.date.year == year)):
            yield index, index + 1


@lru_cache(maxsize=KEPT)
def _day_or_year(reference: str) -> tuple[AnswerForm | None, Fraction | None]:
    """The reference as a date, or as a number that may be a year, and that year."""
    tokens = tokenize(without_lead(reference)).tokens
    if len(tokens) != 1:
        return None, None
    number = tokens[0].number
    year = number if number is not None and may_be_year(number) else None
    return tokens[0].date or (Number(year) if year is not None else None), year


def may_be_year(number: Fraction) -> bool:
    """Whether a number may be a date's year."""
    return 1000 <= number <= 2100 and number.denominator == 1


def without_lead(text: str) -> str:
    """A reference without a preposition or a title at its front. A title goes only where two words are left."""
    words = text.split()
    while len(words) > 1 and words[0].lower() in _LEAD:
        words = words[1:]
    while len(words) > 2 and words[0].lower().rstrip(".") in _TITLES:
        words = words[1:]
    return " ".join(words)


def _turn_name(text: str) -> str:
    """ "Curie, Marie" as "Marie Curie"."""
    last, comma, first = text.partition(", ")
    one_each = comma and _PART_OF_NAME.fullmatch(last) and _PART_OF_NAME.fullmatch(first)
    return f"{first} {last}" if one_each else ""


def _turn_number(text: str) -> str:
    """ "season 6" as "sixth season", and back; "" for any other text."""
    found = _KIND_FIRST.fullmatch(text)
    if found:
        ending = "th" if found["number"][-1] not in "123" else {"1": "st", "2": "nd", "3": "rd"}[found["number"][-1]]
        return f"{found['number']}{ending} {found['kind']}"
    tokens = tokenize(text).tokens
    if len(tokens) != 2 or not tokens[0].key.endswith("th;") or tokens[1].word not in _PARTS:
        return ""
    return f"{tokens[1].word} {tokens[0].key.strip('#th;')}"


def _times(text: str) -> tuple[str, ...]:
    """ "15:30" as "3:30 pm", and back. Without am or pm "9:30" may be in the evening, and "09:30" is in the morning."""
    found = _TIME.fullmatch(text)
    if not found or not (found["minutes"] or found["half"]):
        return ()
    hour, minutes, half = int(found["hour"]), found["minutes"] or "00", (found["half"] or "").lower()
    if hour > 23:  # 45:12 is a length of time
        return ()
    if half:
        hour = hour % 12 + 12 * (half == "p")
        either = 10 <= hour <= 12  # 11:30 may be in the evening
        return () if either else (f"{hour:02}:{minutes}", *([f"0:{minutes}"] if hour == 0 else []))
    halves = ["am", "pm"] if found["hour"] == str(hour) and 1 <= hour <= 12 else ["pm" if hour >= 12 else "am"]
    plain = (f"{hour}:{minutes}", f"{hour:02}:{minutes}")
    return (*plain, *(f"{hour % 12 or 12}:{minutes} {each}" for each in halves))


def _shorter_names(text: str) -> tuple[str, ...]:
    """ "Marie Salomea Curie" as "Marie Curie" and "Marie S. Curie"; empty for what is not a name of 3 or 4 words."""
    words = text.split()
    plain = all(_PART_OF_NAME.fullmatch(word) and word[0].isupper() and not word.isupper() for word in words)
    if not plain or not 3 <= len(words) <= 4 or words[0] == "The" or words[-1].lower() in _NO_SURNAME:
        return ()
    initials = " ".join(f"{word[0]}." for word in words[1:-1])
    return f"{words[0]} {words[-1]}", f"{words[0]} {initials} {words[-1]}"
