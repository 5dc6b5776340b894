"""reasoning-gym tasks as problems; the entry stays with the problem, so that its own scorer can be asked."""

from __future__ import annotations

import reasoning_gym

from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem


def load(task: str, size: int, seed: int) -> list[Problem]:
    """`size` generated problems of a task.

    Raises:
        BadInputError: no such task.
    """
    try:
        dataset = reasoning_gym.create_dataset(task, size=size, seed=seed)
    except ValueError as error:
        raise BadInputError(f"reasoning_gym:{task}: no such task ({error})") from error
    return [
        Problem(
            entry["question"],
            entry["answer"],
            f"reasoning_gym:{task}",
            f"{task}-{seed}-{index}",
            {"task": task, "entry": entry, "worked_solution": entry["metadata"].get("answer_cot", "")},
        )
        for index, entry in enumerate(dataset)
        if entry["answer"]
    ]
