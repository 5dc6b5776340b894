"""The contract of a negative source, and how one is found."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from cooper_rl.parts import find
from cooper_rl.records import Batch, ContrastivePair, Rollout, Verdict, Verification

KNOWN = {
    "mined": "cooper_rl.method.negatives.mined:Mined",
    "assistant": "cooper_rl.method.negatives.assistant:Assistant",
    "perturb": "cooper_rl.method.negatives.perturb:Perturb",
    "shuffle": "cooper_rl.method.negatives.shuffle:Shuffle",
}
GROUP = "cooper_rl.negative_sources"


@dataclass(eq=False)
class Slot:
    """A pair that still needs its negative: the prompt's rollouts, the positive, and the source of the negative."""

    group: Sequence[Rollout]
    positive: str
    positive_source: str
    negative_source: str
    rng: random.Random  # the prompt's own, seeded by run, step and prompt

    @property
    def question(self) -> str:
        return self.group[0].question

    @property
    def reference_answer(self) -> str:
        return self.group[0].reference_answer

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right. A negative is wrong by each of them."""
        return self.group[0].sample.references

    def right_estimate(self, negative: str) -> float:
        """The estimated probability that a negative is right after all; 0 where it is no doubtful rollout."""
        return max((r.right_estimate for r in self.group if r.completion == negative), default=0.0)

    def pair(self, negative: str) -> ContrastivePair:
        """The pair with this negative."""
        return ContrastivePair(
            self.question,
            self.reference_answer,
            self.positive,
            negative,
            self.negative_source,
            self.positive_source,
            self.group[0].sample.problem_id,
        )


class NegativeSource(ABC):
    """Proposes wrong completions. The rule verifier judges each one before it becomes a negative.

    A subclass is constructed without arguments, once a run. A user's own is named in `negative_sources`, as
    `module:Class` or as an entry point of the group `cooper_rl.negative_sources`.
    """

    judged = False  # True: it proposes rollouts, which have a verdict already; each is proposed once

    def begin(self, slots: Sequence[Slot]) -> None:
        """Called with this rank's slots as soon as the batch is scored, so that a slow source can start early."""

    @abstractmethod
    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        """A completion for each slot, None where the source has none.

        Args:
            slots: those that still need a negative.
            batch: the batch that the slots were drawn from.
            attempt: counts from 0; a slot whose proposal was not found wrong comes again with the next number.
        """

    def accepts(self, verification: Verification) -> bool:
        """Whether a proposal with this verification is wrong enough: shown to differ from the reference answer."""
        return verification.verdict is Verdict.INCORRECT

    def end_step(self) -> dict[str, float]:
        """Called at the end of each step. Returns the source's metrics of the step."""
        return {}


def find_source(name: str) -> type[NegativeSource]:
    """The source of this name, import path or entry point.

    Raises:
        BadInputError: there is no such source.
    """
    found: type[NegativeSource] = find(GROUP, name, KNOWN)
    return found
