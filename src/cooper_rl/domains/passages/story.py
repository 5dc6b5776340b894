"""A story: what a passage tells, its question, and the answer with all its writings."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cooper_rl.domains.passages import writings
from cooper_rl.domains.passages.people import SITES, TOWNS, at

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
    year_day = writings.date_value(rng.randint(1, 12), rng.randint(1, 28))
    clock = writings.time_value(5 * rng.randrange(7 * 12, 20 * 12))
    parts = {
        "place": at(rng.choice([*SITES, *TOWNS])),
        "date": f"on {writings.of_date(year_day)[rng.randrange(2)]}",
        "time": f"at {writings.in_passage(clock, rng.randrange(3))}",
    }
    told = [text for name, text in parts.items() if name != kind]
    first = f"The {rng.choice(GROUPS)} met {' '.join(rng.sample(told, 2))}."
    return f"{first} {rng.choice(REMARKS)}" if rng.random() < REMARKED else first


def drawn_apart(rng: random.Random, draw: Callable[[], Any], count: int) -> list[Any]:
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
