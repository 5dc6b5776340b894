"""reasoning-gym's tasks as domains. Each problem keeps its entry, which the task's own scorer needs."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.extras import optional
from cooper_rl.records import Problem, Verdict
from cooper_rl.verifiers.gym import entry_as_reference, explain

PREFIX = "reasoning_gym:"
EXTRA = "reasoning-gym"
GENERATED = 1000  # number of problems if no size is given
BLOCK = 4096
# The share of all questions, in percent of the hash space, that each split owns.
SPLITS = {"heldout": range(0, 10), "reward_model_heldout": range(10, 20), "train": range(20, 100)}
DRAWS = 50  # entries that are drawn at most for each problem: some tasks have few questions


class ReasoningGymTask(Domain):
    """One task of reasoning-gym, with the splits of `SPLITS`. Its scorer knows the truth."""

    splits = tuple(SPLITS)

    def __init__(self, task: str) -> None:
        self.task = task
        self.name = self.verifier = f"{PREFIX}{task}"  # the verifier of that name is the task's own scorer

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Distinct generated problems of a split, fewer than `size` where the task has not so many.

        Entries without an answer are left out.

        Raises:
            BadInputError: reasoning-gym is not installed, or has no such task or split.
        """
        self.check(split)
        split, wanted = own_split(split), size or GENERATED
        start = random.Random(f"{self.task}-{split}-{seed}").randrange(2**31)
        found: dict[str, Problem] = {}
        try:
            for dataset, index, problem_id in islice(endless(self.task, start), wanted * DRAWS):
                entry = dataset[index]
                question, answer = entry["question"], entry["answer"]
                if answer and question not in found and split_of(question) == split:
                    metadata = {"task": self.task, "entry": entry}
                    metadata["worked_solution"] = entry["metadata"].get("answer_cot", "")
                    found[question] = Problem(question, answer, self.name, problem_id, metadata)
                if len(found) == wanted:
                    break
        except ValueError as error:
            raise BadInputError(f"{self.name}: no such task ({error})") from error
        return list(found.values())

    def is_true(self, problem: Problem, completion: str) -> bool | None:
        """Whether the task's own scorer gives the stated answer the full mark."""
        reference = entry_as_reference(problem.metadata["entry"])
        return explain(reference, completion, task=self.task).verdict is Verdict.CORRECT

    def check(self, split: str) -> None:
        """Checks the name of the split."""
        self.check_split(own_split(split))


def split_of(question: str) -> str:
    """The split of a question, by a hash of its text, so that no question is ever in two splits."""
    bucket = int.from_bytes(hashlib.sha256(question.encode()).digest()[:4], "big") % 100
    return next(name for name, buckets in SPLITS.items() if bucket in buckets)


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
