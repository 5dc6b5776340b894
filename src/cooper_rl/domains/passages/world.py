"""The data set `passages`: its splits, its problems and their truth.

A split depends on the facts of a problem and not on its wording, so that no held-out problem is a training problem in
other words. See `story.Story.key`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import ClassVar

from cooper_rl.domains.domain import Domain
from cooper_rl.domains.generated import GENERATED, SPLITS, own_split, split_of
from cooper_rl.domains.passages import inferences, lookups
from cooper_rl.domains.passages.story import Story, solution
from cooper_rl.domains.passages.truth import is_right
from cooper_rl.records import Problem

STORIES: Mapping[str, tuple[Callable[[random.Random], Story], float]] = {  # each with its share of the draws
    "person": (lookups.person, 0.14),
    "place": (lookups.place, 0.12),
    "date": (lookups.date, 0.12),
    "time": (lookups.time, 0.12),
    "amount": (lookups.amount, 0.12),
    "date_sum": (inferences.date_sum, 0.08),
    "time_sum": (inferences.time_sum, 0.08),
    "amount_sum": (inferences.amount_sum, 0.08),
    "kinship": (inferences.kinship, 0.14),
}


class Passages(Domain):
    """Short passages with one question: who, where, when, how much, and who is what to whom.

    The reference answer is one of the answer's writings, drawn at random. The others are in the metadata, and only
    `is_true` reads them.
    """

    name = "passages"
    splits = tuple(SPLITS)
    verifier = "text"
    shares: ClassVar[Mapping[str, float]] = {task: share for task, (_, share) in STORIES.items()}

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """Distinct problems of a split, 1,000 if no size is given. `test` is another name of `heldout`.

        Raises:
            BadInputError: there is no such split.
        """
        split = own_split(split)
        self.check_split(split)
        rng = random.Random(f"{self.name}-{split}-{seed}")
        problems: dict[str, Problem] = {}
        while len(problems) < (size or GENERATED):
            task = rng.choices(list(self.shares), weights=list(self.shares.values()))[0]
            while split_of((story := STORIES[task][0](rng)).key) != split:
                pass
            problem = problem_of(story, rng, f"{self.name}-{split}-{seed}-{len(problems)}")
            problems.setdefault(problem.question, problem)
        return list(problems.values())

    def check(self, split: str) -> None:
        """Checks the name of the split."""
        self.check_split(own_split(split))

    def is_true(self, problem: Problem, completion: str) -> bool:
        """Whether the completion states the answer in any of its writings, and no other one."""
        story = problem.metadata
        known = {**story["known"], "text": problem.question, "value": story["value"]}
        return is_right(str(story["kind"]), str(story["value"]), known, completion)


def problem_of(story: Story, rng: random.Random, problem_id: str) -> Problem:
    """A story as a problem, with one writing as its reference answer and a short answer as its worked solution."""
    reference = rng.choice(story.all_writings)
    metadata = {
        **{name: getattr(story, name) for name in ("task", "kind", "key", "value")},
        "writings": list(story.all_writings),
        "known": dict(story.known),
        "worked_solution": solution(story, reference, rng),
    }
    return Problem(f"{story.passage}\n{story.question}", reference, f"passages:{story.task}", problem_id, metadata)
