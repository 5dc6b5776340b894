"""The nano worlds by name: their problems, how demonstrations are written, and what is true."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cooper_rl.domains.nano import kinship, truth, weekdays, world, writer
from cooper_rl.records import Problem


@dataclass(frozen=True)
class World:
    """What the makers of a nano policy and its VerifyRM need of a world."""

    problems: Callable[[str, int, int], list[Problem]]  # split, size, seed
    write: Callable[[Problem, random.Random, str | None], str]  # a demonstration by a way of `writer.WAYS`, or blank
    slipped: Callable[[Problem, str], Problem]  # the problem with a wrong answer, to which its worked steps lead
    answer: Callable[[Problem], str]  # the reference answer as it is written
    canonical: Callable[[str], str]  # one text for equal answers
    stated: Callable[[str], str | None]  # the one answer that a completion states
    is_true: Callable[[Problem, str], bool]
    forms: Mapping[str, float]
    tasks: tuple[str, ...]


WORLDS = {
    "nano": World(
        world.nano_problems,
        writer.write_demonstration,
        writer.slipped,
        writer.reference_value,
        truth.canonical,
        truth.stated_value,
        truth.is_true,
        writer.FORMS,
        tuple(world.TASKS),
    ),
    "nano-kinship": World(
        kinship.kinship_problems,
        kinship.write_kinship,
        kinship.slipped_kinship,
        lambda problem: problem.reference_answer,
        kinship.canonical_relation,
        kinship.stated_relation,
        kinship.is_true_relation,
        kinship.FORMS,
        (kinship.TASK,),
    ),
    "nano-weekdays": World(
        weekdays.mixed_problems,
        weekdays.write_mixed,
        weekdays.slipped_mixed,
        weekdays.mixed_answer,
        weekdays.canonical_mixed,
        weekdays.stated_mixed,
        weekdays.is_true_mixed,
        writer.FORMS | weekdays.FORMS,
        tuple(weekdays.WEIGHTS),
    ),
}
