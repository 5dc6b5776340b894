"""Stories: what a passage tells, its question, and the answer with all its writings.

The stories here are those whose answer stands in the passage, beside others of its kind: people, places, dates, times
and amounts. A sentence of the passage that has the answer has another answer of its kind too, so that copying it
answers nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from studies.passages import wordings
from studies.passages.wordings import SITES, TOWNS, Person, at, of_person, of_place, persons

OTHER_WRITING = 0.6  # share of the worked solutions that are in another writing than the reference answer
GROUPS = ("neighbours", "choir", "class", "team", "family", "chess club", "hikers", "gardeners")
REMARKED = 0.6  # share of the passages with a sentence that tells nothing of the question
REMARKS = (
    "It rained all day.",
    "The weather was fine.",
    "Everyone was in a good mood.",
    "There was a lot to talk about.",
    "Nobody had planned it.",
    "It was a quiet day.",
)


@dataclass(frozen=True)
class Story:
    """A passage with one question.

    Attributes:
        task: its name; `kind` is the kind of its answer, in `readings`.
        key: what has to be known to answer it, in one writing: the same for all wordings of a problem.
        value: the answer in the writing in which it is kept; `writings` are those in which it may be given.
        sentences: answer sentences with `{answer}`.
        alone: writings that fit no sentence.
        known: what the scorer has to know of the passage.
    """

    task: str
    kind: str
    key: str
    passage: str
    question: str
    value: str
    writings: tuple[str, ...]
    sentences: tuple[str, ...]
    alone: tuple[str, ...] = ()
    known: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_writings(self) -> tuple[str, ...]:
        """Every writing of the answer."""
        return self.writings + self.alone


def key_of(task: str, *facts: object) -> str:
    """The facts of a problem as one text. They are sorted, so that their order in the passage does not count."""
    return f"{task}: {'; '.join(sorted(map(str, facts)))}"


def scene(rng: random.Random, kind: str) -> str:
    """A first sentence with a date, a place or a time that nobody asks for, and none of the answer's kind."""
    year_day = wordings.date_value(rng.randint(1, 12), rng.randint(1, 28))
    clock = wordings.time_value(5 * rng.randrange(7 * 12, 20 * 12))
    parts = {
        "place": at(rng.choice([*SITES, *TOWNS])),
        "date": f"on {wordings.of_date(year_day)[rng.randrange(2)]}",
        "time": f"at {wordings.in_passage(clock, rng.randrange(3))}",
    }
    told = [text for name, text in parts.items() if name != kind]
    first = f"The {rng.choice(GROUPS)} met {' '.join(rng.sample(told, 2))}."
    return f"{first} {rng.choice(REMARKS)}" if rng.random() < REMARKED else first


def draw_apart(rng: random.Random, draw: Callable[[], Any], count: int) -> list[Any]:
    """So many different draws."""
    found: list[Any] = []
    while len(found) < count:
        one = draw()
        if one not in found:
            found.append(one)
    return found


def solution(story: Story, reference: str, rng: random.Random) -> str:
    """A short answer as a person may give it: alone or in a sentence, mostly in another writing than the reference."""
    others = [text for text in story.all_writings if text != reference]
    text = rng.choice(others) if others and rng.random() < OTHER_WRITING else reference
    forms: Sequence[str] = ("{answer}", "{answer}.", "The answer is {answer}.")
    if text in story.writings:
        forms = (*forms, *story.sentences * 2)
    said = rng.choice(forms).format(answer=text)
    return said[0].upper() + said[1:]


class Deed(NamedTuple):
    """What people of a passage did: in the past tense, in its base form, and with what."""

    past: str
    base: str
    things: tuple[str, ...] = ()


WITH_THINGS = (
    Deed("played the", "play the", ("flute", "violin", "drum", "cello", "trumpet", "piano")),
    Deed("painted the", "paint the", ("door", "fence", "gate", "boat", "wall", "bench")),
    Deed("brought the", "bring the", ("bread", "soup", "salad", "cake", "cheese", "juice")),
    Deed("repaired the", "repair the", ("roof", "bicycle", "clock", "radio", "lamp", "pump")),
    Deed("found the", "find the", ("keys", "map", "ticket", "wallet", "coin", "letter")),
)
AT_PLACES = (
    Deed("waited", "wait"),
    Deed("worked", "work"),
    Deed("had lunch", "have lunch"),
    Deed("slept", "sleep"),
    Deed("met a friend", "meet a friend"),
)
ON_DAYS = (
    Deed("came home", "come home"),
    Deed("moved in", "move in"),
    Deed("started work", "start work"),
    Deed("left town", "leave town"),
    Deed("had a birthday", "have a birthday"),
)
AT_TIMES = (
    Deed("woke up", "wake up"),
    Deed("arrived", "arrive"),
    Deed("went home", "go home"),
    Deed("called", "call"),
    Deed("had tea", "have tea"),
)


class Measure(NamedTuple):
    """What people of a passage paid, walked, carried or bought: its units, its verb, what follows, and the question."""

    units: tuple[str, ...]
    past: str
    rest: str
    question: str


MEASURES = (
    Measure(("euro", "dollar", "pound"), "paid", " for the {thing}", "How much did {name} pay?"),
    Measure(("euro", "dollar", "pound"), "earned", " with the {thing}", "How much money did {name} earn?"),
    Measure(("kilometre", "metre"), "walked", "", "How far did {name} walk?"),
    Measure(("kilogram",), "carried", " of sand", "How much sand did {name} carry?"),
    Measure(("litre",), "bought", " of milk", "How much milk did {name} buy?"),
)
GOODS = ("chair", "lamp", "coat", "bicycle", "painting", "clock", "guitar", "basket")


def tell(rng: random.Random, facts: Sequence[str], asked: int) -> str:
    """Three facts as sentences. The one that is asked for shares a sentence with another."""
    beside, alone = rng.sample([place for place in range(len(facts)) if place != asked], 2)
    pair = rng.sample([asked, beside], 2)
    joint = rng.choice((" and ", ", while ", ", and "))
    sentences = [f"{facts[pair[0]]}{joint}{facts[pair[1]]}.", f"{facts[alone]}."]
    rng.shuffle(sentences)
    return " ".join(sentences)


def about(asked: str, others: Sequence[str]) -> dict[str, list[str]]:
    """Whom or what the question is about, and what else the passage tells of."""
    return {"focus": [asked], "others": list(others)}


def person(rng: random.Random) -> Story:
    """Who did something."""
    people, deed = persons(rng, 3), rng.choice(WITH_THINGS)
    things = rng.sample(deed.things, 3)
    facts = [f"{who.full} {deed.past} {thing}" for who, thing in zip(people, things, strict=True)]
    names = [f"{who.first}={thing}" for who, thing in zip(people, things, strict=True)]
    did = f"{deed.past} {things[0]}"
    return Story(
        "person",
        "person",
        key_of("person", *names),
        f"{scene(rng, 'person')} {tell(rng, facts, 0)}",
        rng.choice((f"Who {did}?", f"Which of them {did}?", f"What is the name of the one who {did}?")),
        people[0].full,
        of_person(people[0], people),
        (f"{{answer}} {did}.", "It was {answer}."),
        alone=(f"{people[0].last}, {people[0].first}",),
        known={"people": [list(who) for who in people], **about(things[0], things[1:])},
    )


def place(rng: random.Random) -> Story:
    """Where somebody was."""
    people, deed = persons(rng, 3), rng.choice(AT_PLACES)
    places = rng.sample(rng.choice((list(SITES), TOWNS)), 3)
    facts = [f"{who.first} {deed.past} {at(where)}" for who, where in zip(people, places, strict=True)]
    names = [f"{who.first}={where}" for who, where in zip(people, places, strict=True)]
    asked = people[0].first
    before = "at" if places[0] in SITES else "in"
    return Story(
        "place",
        "place",
        key_of("place", *names),
        f"{scene(rng, 'place')} {tell(rng, facts, 0)}",
        rng.choice((f"Where did {asked} {deed.base}?", f"In what place did {asked} {deed.base}?")),
        places[0],
        of_place(places[0]),
        (f"{asked} {deed.past} {before} {{answer}}.", f"{before} {{answer}}", f"It was {before} {{answer}}."),
        known=about(asked, [who.first for who in people[1:]]),
    )


def date(rng: random.Random) -> Story:
    """On what day somebody did something."""
    days = draw_apart(rng, lambda: wordings.date_value(rng.randint(1, 12), rng.randint(1, 28)), 3)
    style = rng.randrange(5)
    shown = [wordings.of_date(day)[style] for day in days]
    return _when(rng, "date", days, shown, wordings.of_date(days[0]), rng.choice(ON_DAYS))


def time(rng: random.Random) -> Story:
    """At what time somebody did something; all times of a passage are in one half of the day."""
    first = rng.choice((7, 13))
    times = draw_apart(rng, lambda: wordings.time_value(5 * rng.randrange(first * 12, (first + 5) * 12)), 3)
    style = rng.randrange(3)
    shown = [wordings.in_passage(each, style) for each in times]
    return _when(rng, "time", times, shown, wordings.of_time(times[0]), rng.choice(AT_TIMES))


_ASKED = {
    "date": ("When did {name} {base}?", "On what date did {name} {base}?", "On which day did {name} {base}?"),
    "time": ("When did {name} {base}?", "At what time did {name} {base}?", "What time was it when {name} {past}?"),
}


def _when(
    rng: random.Random, kind: str, values: list[str], shown: list[str], answers: tuple[str, ...], deed: Deed
) -> Story:
    people, before = persons(rng, 3), {"date": "on", "time": "at"}[kind]
    facts = [f"{who.first} {deed.past} {before} {text}" for who, text in zip(people, shown, strict=True)]
    asked = people[0].first
    return Story(
        kind,
        kind,
        key_of(kind, *values),
        f"{scene(rng, kind)} {tell(rng, facts, 0)}",
        rng.choice(_ASKED[kind]).format(name=asked, base=deed.base, past=deed.past),
        values[0],
        answers,
        (f"{asked} {deed.past} {before} {{answer}}.", f"{before} {{answer}}", f"It was {before} {{answer}}."),
        known=about(asked, [who.first for who in people[1:]]),
    )


def amount_fact(who: Person, measure: Measure, amount: str, thing: str) -> str:
    """A sentence such as `Ana paid 20 euros for the lamp`, without its full stop."""
    return f"{who.first} {measure.past} {amount}{measure.rest.format(thing=thing)}"


def amount(rng: random.Random) -> Story:
    """How much somebody paid, walked, carried or bought."""
    people, measure = persons(rng, 3), rng.choice(MEASURES)
    unit, things, style = rng.choice(measure.units), rng.sample(GOODS, 3), rng.randrange(2)
    values = [wordings.amount_value(number, unit) for number in rng.sample(range(2, 100), 3)]
    shown = [wordings.of_amount(value)[style] for value in values]
    facts = [amount_fact(*row) for row in zip(people, [measure] * 3, shown, things, strict=True)]
    asked = people[0].first
    return Story(
        "amount",
        "amount",
        key_of("amount", *values),
        f"{scene(rng, 'amount')} {tell(rng, facts, 0)}",
        measure.question.format(name=asked),
        values[0],
        wordings.of_amount(values[0]),
        (f"{asked} {measure.past} {{answer}}.", "It was {answer}.", "That was {answer}."),
        known=about(asked, [who.first for who in people[1:]]),
    )
