"""Stories whose answer takes one step from what the passage tells: other dates, times and amounts, and kinship."""

from __future__ import annotations

import random

from studies.passages import wordings
from studies.passages.stories import (
    AT_TIMES,
    GOODS,
    MEASURES,
    ON_DAYS,
    Story,
    about,
    amount_fact,
    key_of,
    scene,
)
from studies.passages.wordings import FEMALE, MALE, Person, persons

DAYS = (*range(1, 7), 7, 14)
SPANS = {15: "15 minutes", 20: "20 minutes", 30: "half an hour", 45: "45 minutes", 60: "an hour", 90: "90 minutes"}
_PAIRS = {  # relation: its word for a woman and for a man
    "parent": ("mother", "father"),
    "sibling": ("sister", "brother"),
    "child": ("daughter", "son"),
    "spouse": ("wife", "husband"),
    "grandparent": ("grandmother", "grandfather"),
    "grandchild": ("granddaughter", "grandson"),
    "parent's sibling": ("aunt", "uncle"),
    "sibling's child": ("niece", "nephew"),
    "sibling-in-law": ("sister-in-law", "brother-in-law"),
    "parent-in-law": ("mother-in-law", "father-in-law"),
    "child-in-law": ("daughter-in-law", "son-in-law"),
    "cousin": ("cousin", "cousin"),
}
CHAINS = (  # what one is to another, what a third is to that one, and what the third is to the other
    ("parent", "sibling", "parent's sibling"),
    ("parent", "parent", "grandparent"),
    ("sibling", "child", "sibling's child"),
    ("child", "child", "grandchild"),
    ("child", "spouse", "child-in-law"),
    ("spouse", "sibling", "sibling-in-law"),
    ("spouse", "parent", "parent-in-law"),
    ("parent's sibling", "child", "cousin"),
)
STRANGERS = ("neighbour", "teacher", "friend", "doctor", "boss", "coach")


def word_of(relation: str, gender: str) -> str:
    """The word for a relation."""
    return _PAIRS[relation][(FEMALE, MALE).index(gender)]


def date_sum(rng: random.Random) -> Story:
    """A day some days before or after another one of the same month."""
    month, count = rng.randint(1, 12), rng.choice(DAYS)
    base, later = rng.randint(1, 28 - count), rng.random() < 0.6
    days = [base + count, base] if later else [base, base + count]
    third = rng.choice([day for day in range(1, 29) if day not in days])
    answer, known, other = (wordings.date_value(month, day) for day in (*days, third))
    (asked, first, stranger), deed, style = persons(rng, 3), rng.choice(ON_DAYS), rng.randrange(5)
    span = {1: "one day", 7: "a week", 14: "two weeks"}.get(count) or f"{wordings.number_words(count)} days"
    way = "after" if later else "before"
    facts = [
        f"{who.first} {deed.past} on {wordings.of_date(each)[style]}"
        for who, each in _shuffled(rng, (first, known), (stranger, other))
    ]
    step = f"{asked.first} {deed.past} {span} {way} {first.first}."
    return Story(
        "date_sum",
        "date",
        key_of("date_sum", known, f"{count} {way}"),
        f"{scene(rng, 'date')} {facts[0]} and {facts[1]}. {step}",
        rng.choice(("When did {name} {base}?", "On what date did {name} {base}?")).format(
            name=asked.first, base=deed.base
        ),
        answer,
        wordings.of_date(answer),
        (f"{asked.first} {deed.past} on {{answer}}.", "on {answer}", "It was on {answer}."),
        known={"given": [known], **about(asked.first, [first.first, stranger.first])},
    )


def _shuffled(rng: random.Random, *rows: tuple[Person, str]) -> list[tuple[Person, str]]:
    return rng.sample(rows, len(rows))


def time_sum(rng: random.Random) -> Story:
    """A time of day some minutes after another one."""
    first_hour, minutes = rng.choice((7, 13)), rng.choice(list(SPANS))
    start = 5 * rng.randrange(first_hour * 12, (first_hour + 5) * 12 - minutes // 5)
    (asked, first, stranger), deed, style = persons(rng, 3), rng.choice(AT_TIMES), rng.randrange(3)
    taken = (start, start + minutes)
    third = rng.choice([t for t in range(first_hour * 60, (first_hour + 5) * 60, 5) if t not in taken])
    answer, known, other = (wordings.time_value(each) for each in (start + minutes, start, third))
    facts = [
        f"{who.first} {deed.past} at {wordings.in_passage(each, style)}"
        for who, each in _shuffled(rng, (first, known), (stranger, other))
    ]
    step = f"{asked.first} {deed.past} {SPANS[minutes]} after {first.first}."
    return Story(
        "time_sum",
        "time",
        key_of("time_sum", known, minutes),
        f"{scene(rng, 'time')} {facts[0]} and {facts[1]}. {step}",
        rng.choice(("When did {name} {base}?", "At what time did {name} {base}?")).format(
            name=asked.first, base=deed.base
        ),
        answer,
        wordings.of_time(answer),
        (f"{asked.first} {deed.past} at {{answer}}.", "at {answer}", "It was at {answer}."),
        known={"given": [known], **about(asked.first, [first.first, stranger.first])},
    )


def amount_sum(rng: random.Random) -> Story:
    """Half or double of an amount, a few units more, or two amounts together."""
    (asked, first, stranger), measure = persons(rng, 3), rng.choice(MEASURES)
    unit, style, how = rng.choice(measure.units), rng.randrange(2), rng.choice(("half", "twice", "more", "together"))
    base, more = rng.randint(2, 24) * 2, rng.randint(1, 5)
    third = rng.choice([n for n in range(3, 50) if n not in (base, base // 2, base * 2, base + more)])
    number = {"half": base // 2, "twice": base * 2, "more": base + more, "together": base + third}[how]
    answer, known, other = (wordings.amount_value(each, unit) for each in (number, base, third))
    goods = rng.sample(GOODS, 2)
    rows = list(zip(_shuffled(rng, (first, known), (stranger, other)), goods, strict=True))
    facts = [amount_fact(who, measure, wordings.of_amount(each)[style], thing) for (who, each), thing in rows]
    compared = {"half": "half as much as", "twice": "twice as much as", "more": f"{_more(more, unit)} more than"}
    step = f"{asked.first} {measure.past} {compared.get(how, '')} {first.first}."
    name, focus = asked.first, about(asked.first, [first.first, stranger.first])
    if how == "together":
        step, name, focus = f"{asked.first} only watched.", f"{first.first} and {stranger.first}", {}
    question = measure.question.format(name=name)
    return Story(
        "amount_sum",
        "amount",
        key_of("amount_sum", how, known, *([other] if how == "together" else [more] if how == "more" else [])),
        f"{scene(rng, 'amount')} {facts[0]} and {facts[1]}. {step}",
        question.replace("?", " together?") if how == "together" else question,
        answer,
        wordings.of_amount(answer),
        (f"{name} {measure.past} {{answer}}.", "It was {answer}.", "That is {answer}."),
        known={"given": [known, other] if how == "together" else [known], **focus},
    )


def _more(number: int, unit: str) -> str:
    names = wordings.UNITS[unit].names
    return f"one {names[-2 if len(names) > 2 else 1]}" if number == 1 else f"{number} {names[0]}"


def kinship(rng: random.Random) -> Story:
    """What one person is to another, who both are known by what they are to a third."""
    first, second, third = rng.choice(CHAINS)
    one, between, asked, stranger = persons(rng, 4, _genders(rng, first, second))
    near, far, word = word_of(first, between.gender), word_of(second, asked.gender), word_of(third, asked.gender)
    facts = [_fact(rng, between, one, near), _fact(rng, asked, between, far)]
    other = _fact(rng, stranger, rng.choice((one, between, asked)), rng.choice(STRANGERS))
    facts.insert(rng.randrange(3), other)
    joined = f"{facts[0]}, and {facts[1]}. {facts[2]}." if rng.random() < 0.5 else ". ".join([*facts, ""]).strip()
    his = one.his
    return Story(
        "kinship",
        "kinship",
        key_of("kinship", f"{between.first}={near} of {one.first}", f"{asked.first}={far} of {between.first}"),
        f"{scene(rng, 'kinship')} {joined}",
        rng.choice((f"What is {asked.first} to {one.first}?", f"How is {asked.first} related to {one.first}?")),
        word,
        (
            *(f"{his} {word}", f"{one.first}'s {word}", f"the {word} of {one.first}"),
            *(f"{his} {near}'s {far}", f"the {far} of {his} {near}", f"{one.first}'s {near}'s {far}"),
        ),
        (f"{asked.first} is {{answer}}.", f"{'She' if asked.gender == FEMALE else 'He'} is {{answer}}."),
        alone=(word,),
        known={
            "roles": {"to": one.first, "asked": asked.first, "others": [between.first, stranger.first]},
            "steps": [near, far],
        },
    )


def _genders(rng: random.Random, first: str, second: str) -> list[str]:
    """Of four persons; husband and wife are a man and a woman."""
    one, between, asked, stranger = (rng.choice((FEMALE, MALE)) for _ in range(4))
    opposite = {FEMALE: MALE, MALE: FEMALE}
    if first == "spouse":
        between = opposite[one]
    if second == "spouse":
        asked = opposite[between]
    return [one, between, asked, stranger]


def _fact(rng: random.Random, who: Person, of_whom: Person, word: str) -> str:
    return rng.choice(
        (
            f"{who.first} is {of_whom.first}'s {word}",
            f"{who.first} is the {word} of {of_whom.first}",
            f"{of_whom.first} has a {word} called {who.first}",
            f"{of_whom.first}'s {word} is {who.first}",
        )
    )
