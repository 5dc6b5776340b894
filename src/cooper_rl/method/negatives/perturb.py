"""Negatives without a language model: the positive with one of its numbers changed. (Ours, not the paper's.)"""

from __future__ import annotations

from collections.abc import Sequence

from cooper_rl.method.negatives.source import NegativeSource, Slot
from cooper_rl.records import Batch
from cooper_rl.synthesis.wrong_numbers import perturb


class Perturb(NegativeSource):
    """Changes a number in the reasoning and computes the steps after it anew, so that the answer changes too."""

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        return [perturb(slot.positive, slot.rng) for slot in slots]
