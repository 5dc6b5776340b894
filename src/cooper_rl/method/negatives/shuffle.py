"""Negatives from other prompts of the batch, for an ablation. (Ours, not the paper's.)"""

from __future__ import annotations

from collections.abc import Sequence

from cooper_rl.method.negatives.source import NegativeSource, Slot
from cooper_rl.records import Batch


class Shuffle(NegativeSource):
    """Proposes a completion of another prompt, drawn at random."""

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        proposals: list[str | None] = []
        for slot in slots:
            others = [rollout.completion for rollout in batch.rollouts if rollout.group != slot.group[0].group]
            proposals.append(slot.rng.choice(others) if others else None)
        return proposals
