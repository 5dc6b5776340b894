"""What all nano worlds share: demonstrations of how a model might answer, and the truth of an answer.

The ways of answering differ in quality: a worked solution is right more often than a guess. Reinforcement learning
therefore has something to select.
"""

from __future__ import annotations

import random
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from cooper_rl.domains.generated import GymWorld, is_accepted
from cooper_rl.records import Problem

WAYS = {"steps": 0.30, "last_step": 0.20, "direct": 0.30, "hedged": 0.20}
BLANKS = ("", "The answer is.", "So it is.", "\\boxed{}", "####")
HEDGE = re.compile(r"\bor\b|\bmaybe\b|\bcould be\b")  # words of a completion that names several answers


class NanoWorld(GymWorld):
    """Problems of some of reasoning-gym's tasks, demonstrations that answer them, and their truth.

    Attributes:
        forms: the forms in which demonstrations state an answer, each with its share.
    """

    forms: ClassVar[Mapping[str, float]]

    @abstractmethod
    def state(self, problem: Problem, answer: str, form: str, rng: random.Random) -> str:
        """The closing sentence with this answer, in this form or, if the form does not fit the answer, in another."""

    @abstractmethod
    def another(self, problem: Problem, answer: str, rng: random.Random) -> str:
        """Another answer of the same kind, which is wrong if this one is right."""

    @abstractmethod
    def last_step_to(self, problem: Problem, wrong: str) -> str:
        """The last step of the worked solution, changed so that it leads to the wrong answer."""

    @abstractmethod
    def canonical(self, text: str) -> str:
        """The answer in one fixed writing, so that texts with the same meaning become equal."""

    @abstractmethod
    def read_answer(self, completion: str) -> str | None:
        """The one answer that a completion states, canonical; None if it states none or several."""

    def answer(self, problem: Problem) -> str:
        """The reference answer as a demonstration writes it."""
        return problem.reference_answer

    def forms_of(self, problem: Problem) -> Mapping[str, float]:
        """The forms that fit this problem's answer, each with its share."""
        return self.forms

    def read_last_sentence(self, problem: Problem, completion: str) -> str | None:
        """The one answer of the problem's kind that a completion names in its last sentence, in whatever wording.

        None where the completion states an answer in a form of the demonstrations: then `read_answer` decides.
        """
        return None

    def is_true(self, problem: Problem, completion: str) -> bool:
        """Whether the completion states one answer, and the problem's generator accepts it."""
        answer = self.read_answer(completion) or self.read_last_sentence(problem, completion)
        return answer is not None and is_accepted(problem, answer)

    def slip(self, problem: Problem, wrong: str) -> Problem:
        """The same question with a wrong answer, and a last worked step that leads to it."""
        steps = [*problem.metadata["steps"][:-1], self.last_step_to(problem, wrong)]
        return replace(problem, reference_answer=wrong, metadata={**problem.metadata, "steps": steps})

    def write(self, problem: Problem, rng: random.Random, way: str | None = None) -> str:
        """A demonstration that ends in the problem's answer. A hedged one also names another answer.

        Args:
            way: one of `WAYS`, or `blank` for a completion without an answer. None draws one of `WAYS`.
        """
        answer = self.answer(problem)
        way = way or rng.choices(list(WAYS), weights=list(WAYS.values()))[0]
        if way == "blank":
            return rng.choice(BLANKS)
        forms = self.forms_of(problem)
        form = rng.choices(list(forms), weights=list(forms.values()))[0]
        steps = problem.metadata["steps"]
        statement = self.state(problem, answer, form, rng)
        if way == "steps":
            return " ".join([*steps, statement])
        if way == "last_step":
            return f"{steps[-1]} {statement}"
        return statement if way == "direct" else hedge(answer, self.another(problem, answer, rng), rng)


def hedge(answer: str, other: str, rng: random.Random) -> str:
    """A completion that names both answers and does not decide between them."""
    options = [answer, other]
    rng.shuffle(options)
    return rng.choice(
        [
            f"The answer is {options[0]} or {options[1]}.",
            f"It could be {options[0]}, but maybe {options[1]}.",
            f"\\boxed{{{options[0]}}} or \\boxed{{{options[1]}}}",
        ]
    )


def mark(answer: str, form: str, rng: random.Random) -> str | None:
    """An answer in the form `boxed` or `hash`, which several worlds share; None for any other form."""
    if form == "boxed":
        return rng.choice([f"\\boxed{{{answer}}}", f"So the answer is \\boxed{{{answer}}}."])
    return f"#### {answer}" if form == "hash" else None
