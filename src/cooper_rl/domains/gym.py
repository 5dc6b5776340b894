"""Worlds of problems that reasoning-gym's generators make and its scorers judge: splits, and problems without end."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from cooper_rl.domains.domain import Domain
from cooper_rl.domains.generated import GENERATED, SPLITS, own_split, split_of
from cooper_rl.records import Problem
from cooper_rl.verifiers.simple import scorer


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


def accepted(problem: Problem, value: str) -> bool:
    """Whether the scorer of the problem's generator gives this value the full mark."""
    task = str(problem.metadata["task"])
    answer = problem.reference_answer
    if value.startswith("-") != answer.startswith("-") or ("/" in value and "/" not in answer):
        return False  # gsm_symbolic's scorer reads the first digits only: it ignores a sign, and takes 2/7 for 2
    return bool(scorer(task).score_answer(value, entry=problem.metadata["entry"]) == 1.0)
