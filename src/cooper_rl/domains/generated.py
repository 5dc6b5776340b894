"""reasoning-gym's tasks as domains. Each problem keeps its entry, which the task's own scorer needs."""

from __future__ import annotations

from cooper_rl.domains.domain import Domain
from cooper_rl.errors import BadInputError
from cooper_rl.extras import optional
from cooper_rl.records import Problem

PREFIX = "reasoning_gym:"
EXTRA = "reasoning-gym"
GENERATED = 1000  # number of problems if no size is given


class ReasoningGymTask(Domain):
    """One task of reasoning-gym. It has no splits; another seed gives other problems."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.name = self.verifier = f"{PREFIX}{task}"  # the verifier of that name is the task's own scorer

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Generated problems. Entries without an answer are left out.

        Raises:
            BadInputError: reasoning-gym is not installed, or has no such task.
        """
        reasoning_gym = optional("reasoning_gym", extra=EXTRA, needed_by=f"data set {self.name}")
        try:
            dataset = reasoning_gym.create_dataset(self.task, size=size or GENERATED, seed=seed)
        except ValueError as error:
            raise BadInputError(f"{self.name}: no such task ({error})") from error
        return [
            Problem(
                entry["question"],
                entry["answer"],
                self.name,
                f"{self.task}-{seed}-{index}",
                {"task": self.task, "entry": entry, "worked_solution": entry["metadata"].get("answer_cot", "")},
            )
            for index, entry in enumerate(dataset)
            if entry["answer"]
        ]
