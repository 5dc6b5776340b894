"""reasoning-gym's generators and scorers as the nano worlds use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from cooper_rl.domains.generated import EXTRA
from cooper_rl.extras import optional
from cooper_rl.records import Problem

BLOCK = 4096
ARITHMETIC: dict[str, dict[str, Any]] = {  # the settings of each task's generator
    "gsm_symbolic": {},
    "chain_sum": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 2},
    "decimal_chain_sum": {
        "min_terms": 2,
        "max_terms": 3,
        "min_digits": 1,
        "max_digits": 1,
        "min_decimal_places": 1,
        "max_decimal_places": 1,
    },
    "products": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
}


def endless(task: str, seed: int, **settings: Any) -> Iterator[tuple[Any, int, str]]:
    """(data set, index, problem id) of one task's entries, without end.

    An entry is generated when `dataset[index]` is read. It depends on seed + index, so the seeds of successive blocks
    are `BLOCK` apart.
    """
    while True:
        dataset = _dataset(task, BLOCK, seed, settings)
        for index in range(BLOCK):
            yield dataset, index, f"{task}-{seed}-{index}"
        seed += BLOCK


def problem_of(task: str, entry: dict[str, Any], question: str, steps: Sequence[str], problem_id: str) -> Problem:
    """An entry as a problem. `steps` is its worked solution, one sentence per step."""
    metadata = {"task": task, "entry": entry, "worked_solution": " ".join(steps), "steps": steps}
    return Problem(question, entry["answer"], f"reasoning_gym:{task}", problem_id, metadata)


def accepted(problem: Problem, value: str) -> bool:
    """Whether the scorer of the problem's generator gives this value the full mark."""
    task = str(problem.metadata["task"])
    if value.startswith("-") != problem.reference_answer.startswith("-"):
        return False  # gsm_symbolic's scorer reads the first digits only, and so ignores a sign
    return bool(_scorer(task).score_answer(value, entry=problem.metadata["entry"]) == 1.0)


@cache
def _scorer(task: str) -> Any:
    return _dataset(task, 1, 0, ARITHMETIC.get(task, {}))


def _dataset(task: str, size: int, seed: int, settings: dict[str, Any]) -> Any:
    reasoning_gym = optional("reasoning_gym", extra=EXTRA, needed_by="a nano world")
    return reasoning_gym.create_dataset(task, size=size, seed=seed, **settings)
