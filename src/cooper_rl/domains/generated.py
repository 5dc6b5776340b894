"""reasoning-gym's tasks as domains. Each problem keeps its entry, which the task's own scorer needs."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.extras import optional
from cooper_rl.records import Problem, Verdict
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifiers.simple import entry_as_reference

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
