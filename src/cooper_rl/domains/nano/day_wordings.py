"""Sentences that state a weekday by its place in the week ("We land on the middle of the working week.").

No rule decides these: a comparison of texts or values does not know the week. They are written and read here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = {
    "Monday": ("the first working day", "the start of the working week"),
    "Tuesday": ("the second working day",),
    "Wednesday": ("the third working day", "the middle of the working week"),
    "Thursday": ("the fourth working day",),
    "Friday": ("the last working day", "the end of the working week"),
    "Saturday": ("the first day of the weekend",),
    "Sunday": ("the last day of the weekend",),
}
WORDINGS = {
    "land": "We land on {place}.",
    "give": "That gives {place}.",
    "come": "It comes to {place}.",
    "end": "The count ends on {place}.",
}


def worded(day: str, form: str, rng: random.Random) -> str:
    """A sentence of this form that states the day."""
    return WORDINGS[form].format(place=rng.choice(PLACES[day]))


def days_in(text: str) -> Iterator[str]:
    """The days that the sentences of a text state."""
    for stated in _sentences().finditer(text):
        yield next(day for day, places in PLACES.items() if stated["place"] in places)


@cache
def _sentences() -> re.Pattern[str]:
    """A pattern of all wordings, with the group `place`."""
    openings = "|".join(wording.partition(" {place}")[0] for wording in WORDINGS.values())
    places = "|".join(place for each in PLACES.values() for place in each)
    return re.compile(rf"\b(?:{openings}) (?P<place>{places})\b")
