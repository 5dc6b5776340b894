"""Sentences from which a reader knows a weekday and a comparison does not: beside another day, or by its place.

No rule decides these: to find the day that follows Monday one has to know the week. They are written and read here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
BESIDE = {"before": -1, "after": 1, "second_before": -2, "second_after": 2}  # days from the day that is meant
PLACES = {
    "Monday": ("the first working day", "the start of the working week"),
    "Tuesday": ("the second working day",),
    "Wednesday": ("the third working day", "the middle of the working week"),
    "Thursday": ("the fourth working day",),
    "Friday": ("the last working day", "the end of the working week"),
    "Saturday": ("the first day of the weekend",),
    "Sunday": ("the last day of the weekend",),
}
WORDINGS = {  # the wordings of each form
    "past": (
        "We land one day past {before}.",
        "That is the day that follows {before}.",
        "It comes a day later than {before}.",
    ),
    "ahead": (
        "It comes out the day before {after}.",
        "We stop one day short of {after}.",
        "That is the eve of {after}.",
    ),
    "between": ("That puts us right between {before} and {after}.", "It is right between {before} and {after}."),
    "neighbour": (
        "{before} comes just before that day.",
        "{after} comes just after that day.",
        "The next day is {after}.",
    ),
    "second": (
        "We land two days past {second_before}.",
        "It comes two days ahead of {second_after}.",
        "In two days it is {second_after}.",
    ),
    "place": ("We land on {place}.", "That gives us {place}.", "It comes out as {place}."),
}


def worded(day: str, form: str, rng: random.Random) -> str:
    """A sentence of this form from which the day is known."""
    here = WEEKDAYS.index(day)
    beside = {name: WEEKDAYS[(here + days) % 7] for name, days in BESIDE.items()}
    return rng.choice(WORDINGS[form]).format(**beside, place=rng.choice(PLACES[day]))


def days_in(text: str) -> Iterator[str]:
    """The days that the sentences of a text mean. One that names days which do not fit together means several."""
    for sentence in _sentences():
        for found in sentence.finditer(text):
            for name, said in found.groupdict().items():
                yield _place_of()[said] if name == "place" else WEEKDAYS[(WEEKDAYS.index(said) - BESIDE[name]) % 7]


@cache
def _place_of() -> dict[str, str]:
    """The day of each place in the week."""
    return {place: day for day, places in PLACES.items() for place in places}


@cache
def _sentences() -> tuple[re.Pattern[str], ...]:
    """A pattern for each wording, with a group for each thing that it names."""
    days, places = "|".join(WEEKDAYS), "|".join(_place_of())
    groups = {name: rf"(?P<{name}>{days})" for name in BESIDE} | {"place": rf"(?P<place>{places})"}
    return tuple(
        re.compile(rf"{wording.removesuffix('.').format(**groups)}\b") for said in WORDINGS.values() for wording in said
    )
