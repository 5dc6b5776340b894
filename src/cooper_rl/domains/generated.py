"""Domains whose problems reasoning-gym's generators make and whose answers its scorers judge.

A problem keeps its entry, which the scorer needs. `ReasoningGymTask` is one task as it is. `GymWorld` mixes problems of
some tasks and splits them by a hash of the question. Tasks of arithmetic that come without a worked solution get one
here, one sentence a step.
"""

from __future__ import annotations

import hashlib
import logging
import random
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.parts import optional
from cooper_rl.records import Problem, Verdict
from cooper_rl.synthesis.wrong_numbers import Numeral
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.simple import entry_as_reference, scorer

logger = logging.getLogger(__name__)

PREFIX = "reasoning_gym:"
EXTRA = "reasoning-gym"
GENERATED = 1000  # number of problems if no size is given
BLOCK = 4096
# The share of all questions, in percent of the hash space, that each split owns.
SPLITS = {"heldout": range(0, 10), "reward_model_heldout": range(10, 20), "train": range(20, 100)}
IN_VAIN = 500  # entries without a new question in a row after which a task has no more


class ReasoningGymTask(Domain):
    """One task of reasoning-gym, half of whose questions are for training. Its scorer knows the truth."""

    splits = ("train", "test")

    def __init__(self, task: str) -> None:
        self.task = task
        self.name = self.verifier = f"{PREFIX}{task}"  # the verifier of that name is the task's own scorer

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Distinct generated problems of a split, with a warning where the task has fewer than `size`.

        Entries without an answer are left out.

        Raises:
            BadInputError: reasoning-gym is not installed, or has no such task or split.
        """
        self.check(split)
        wanted, start = size or GENERATED, random.Random(f"{self.task}-{split}-{seed}").randrange(2**31)
        found: dict[str, Problem] = {}
        drawn_in_vain = 0
        for dataset, index, problem_id in self._entries(start):
            entry = dataset[index]
            question, answer = entry["question"], entry["answer"]
            drawn_in_vain += 1
            if answer and question not in found and _half_of(question) == split:
                metadata = {"task": self.task, "entry": entry}
                metadata["worked_solution"] = entry["metadata"].get("answer_cot", "")
                found[question] = Problem(question, answer, self.name, problem_id, metadata)
                drawn_in_vain = 0
            if len(found) == wanted or drawn_in_vain == IN_VAIN:
                break
        if len(found) < wanted:
            logger.warning("%s: only %d different problems were found, not %d", self.name, len(found), wanted)
        return list(found.values())

    def _entries(self, start: int) -> Iterator[tuple[Any, int, str]]:
        try:
            yield from endless(self.task, start)
        except BadInputError:
            raise
        except (ValueError, AssertionError) as error:  # an assertion: a task that needs settings, such as composite
            raise BadInputError(f"{self.name}: no such task, or none without settings ({error})") from error

    def is_true(self, problem: Problem, completion: str) -> bool | None:
        """Whether the task's own scorer, in a process of its own, gives the stated answer the full mark."""
        reference = entry_as_reference(problem.metadata["entry"])
        return _scorer_of(self.verifier).verify(reference, completion) is Verdict.CORRECT


@cache
def _scorer_of(verifier: str) -> RuleVerifier:
    """A verifier with one worker, which is killed where the scorer takes too long on a text."""
    return RuleVerifier(verifier, workers=1)


def _half_of(question: str) -> str:
    return "train" if bucket_of(question) < 50 else "test"


def bucket_of(question: str) -> int:
    """A number from 0 to 99 by a hash of the question, which decides about its split."""
    return int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") % 100


def split_of(question: str) -> str:
    """The split of a question, by a hash of its text, so that no question is ever in two splits.

    The same problem in other words may be in another split.
    """
    return next(name for name, buckets in SPLITS.items() if bucket_of(question) in buckets)


def own_split(split: str) -> str:
    """These worlds' own name of a split: `heldout` for `test`, any other unchanged."""
    return "heldout" if split == "test" else split


def endless(task: str, seed: int, **settings: Any) -> Iterator[tuple[Any, int, str]]:
    """(data set, index, problem id) of one task's entries, without end.

    An entry is generated when `dataset[index]` is read. It depends on seed + index, so the seeds of successive blocks
    are `BLOCK` apart.
    """
    reasoning_gym = optional("reasoning_gym", extra=EXTRA, needed_by=f"problems of {task}")
    while True:
        dataset = reasoning_gym.create_dataset(task, size=BLOCK, seed=seed, **settings)
        for index in range(BLOCK):
            yield dataset, index, f"{task}-{seed}-{index}"
        seed += BLOCK


class GymWorld(Domain):
    """Problems of some of reasoning-gym's tasks, with worked solutions.

    Attributes:
        weights: the tasks, each with its share of the draws. A task that has no new question left is passed over, so
            its share of the problems falls as their number grows.
    """

    splits = tuple(SPLITS)
    weights: ClassVar[Mapping[str, float]]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks' names."""
        return tuple(self.weights)

    @abstractmethod
    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task, with a worked solution as `steps` of their metadata."""

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Distinct problems of a split, 1,000 if no size is given. `test` is another name of `heldout`.

        Raises:
            BadInputError: there is no such split.
        """
        split = own_split(split)
        self.check_split(split)
        rng = random.Random(f"{self.name}-{split}-{seed}")
        streams = {task: self.stream(task, rng.randrange(2**31)) for task in self.weights}
        problems: list[Problem] = []
        seen: set[str] = set()
        while len(problems) < (size or GENERATED):
            task = rng.choices(list(self.weights), weights=list(self.weights.values()))[0]
            problem = next(streams[task])
            if split_of(problem.question) == split and problem.question not in seen:
                seen.add(problem.question)
                problems.append(problem)
        return problems

    def check(self, split: str) -> None:
        """Checks the name of the split."""
        self.check_split(own_split(split))


def problem_of(task: str, entry: dict[str, Any], question: str, steps: Sequence[str], problem_id: str) -> Problem:
    """An entry as a problem. `steps` is its worked solution, one sentence per step."""
    metadata = {"task": task, "entry": entry, "worked_solution": " ".join(steps), "steps": steps}
    return Problem(question, entry["answer"], f"reasoning_gym:{task}", problem_id, metadata)


def is_accepted(problem: Problem, value: str) -> bool:
    """Whether the scorer of the problem's generator gives this value the full mark."""
    task = str(problem.metadata["task"])
    answer = problem.reference_answer
    if value.startswith("-") != answer.startswith("-") or ("/" in value and "/" not in answer):
        return False  # gsm_symbolic's scorer reads the first digits only: it ignores a sign, and takes 2/7 for 2
    return bool(scorer(task).score_answer(value, entry=problem.metadata["entry"]) == 1.0)


def has_one_digit_factor(entry: dict[str, Any]) -> bool:
    """Whether one of a product's two factors has a single digit."""
    return any(len(factor) == 1 for factor in entry["metadata"]["expression"].split(" * "))


def product_steps(expression: str) -> list[str]:
    """The steps of a product such as 47 * 6, digit by digit of the larger factor."""
    left, right = sorted((int(term) for term in expression.split(" * ")), reverse=True)
    tens, ones = left // 10 * 10, left % 10
    if not tens or not ones:
        return [f"{left} * {right} = {left * right}."]
    return [
        f"{tens} * {right} = {tens * right}.",
        f"{ones} * {right} = {ones * right}.",
        f"{tens * right} + {ones * right} = {left * right}.",
    ]


def sum_steps(expression: str) -> list[str]:
    """The steps of a chain of sums, from the left, with as many decimals as its terms have."""
    first, *rest = re.split(r" (?=[+-] )", expression)
    decimals = max(Numeral.read(term).decimals for term in re.split(r" [+-] ", expression))
    scale, sums = 10**decimals, Numeral(0, decimals)
    total = round(float(first) * scale)
    steps = []
    for term in rest:
        sign, number = term.split(" ")
        before = total
        total += (1 if sign == "+" else -1) * round(float(number) * scale)
        steps.append(f"{sums.with_units(before)} {sign} {number} = {sums.with_units(total)}.")
    return steps
