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
from cooper_rl.steps import steps_of

WAYS = {"steps": 0.30, "last_step": 0.20, "direct": 0.30, "hedged": 0.20}
BLANKS = ("", "The answer is.", "So it is.", "\\boxed{}", "####")
_FEW = "so the answer it is that make makes give gives come comes to we get land on count end ends"
_DENYING = (
    "not no never neither nor cannot maybe perhaps about nearly almost half twice before after than wrong if minus"
)
FEW_WORDS, DENIALS = frozenset(_FEW.split()), frozenset(_DENYING.split())
ASIDE = re.compile(r"(?:, in \d+ steps|\. I am \d+% sure)\.?$")
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

    def states(self, problem: Problem, completion: str) -> bool:
        """Whether a completion states an answer in a form of the demonstrations."""
        return self.read_answer(completion) is not None

    def value(self, problem: Problem, text: str) -> str | None:
        """The answer of the problem's kind that this text is and nothing else, canonical."""
        return None

    def read_last_sentence(self, problem: Problem, completion: str) -> str | None:
        """The answer that the last sentence is, beside few words: "The is 31.", "31 is 31.".

        None where another such sentence has another answer, where the completion hedges, or where it states an answer
        in a form of the demonstrations: then `read_answer` decides.
        """
        if HEDGE.search(completion) or self.states(problem, completion):
            return None
        values = [self._beside_few_words(problem, sentence) for sentence in sentences_of(completion)]
        return values[-1] if len({*values} - {None}) == 1 else None

    def _beside_few_words(self, problem: Problem, sentence: str) -> str | None:
        """The answer at the sentence's end, if no more is before it than words that demonstrations have, and one other.

        The other word may be a garbled one, but none that denies, and no answer.
        """
        words = sentence.split()
        for start in range(min(len(words), 7)):
            if (value := self._once_or_twice(problem, " ".join(words[start:]))) is not None:
                others = [word for word in words[:start] if word.casefold() not in FEW_WORDS]
                return value if not others or (len(others) == 1 and self._tells_nothing(problem, *others)) else None
        return None

    def _tells_nothing(self, problem: Problem, word: str) -> bool:
        known = {self.value(problem, writing) for writing in (word, word.casefold(), word.capitalize())}
        return word.isalpha() and word.casefold() not in DENIALS and known == {None}

    def _once_or_twice(self, problem: Problem, text: str) -> str | None:
        once, twice, again = text.partition(" is ")
        said = {self.value(problem, once), self.value(problem, again if twice else once)}
        return said.pop() if len(said) == 1 else None

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


def sentences_of(completion: str) -> list[str]:
    """A completion's sentences without their full stops, and without the demonstrations' asides at its end."""
    text = ASIDE.sub(".", completion.strip())
    return [sentence.strip().removesuffix(".") for sentence in steps_of(text, "sentence")]


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
