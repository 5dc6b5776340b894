"""Mined exploits: the policy's own wrong completions that the reward model scores highest. (Ours, not the paper's.)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cooper_rl.method.negatives.source import NegativeSource, Slot
from cooper_rl.records import Batch, Rollout


class Mined(NegativeSource):
    """Proposes the wrong completions that the reward model scores highest, so that it learns to reject them."""

    judged = True

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        exploits: dict[int, Iterator[str]] = {}  # by prompt; the slots of a prompt share them
        return [next(exploits.setdefault(slot.group[0].group, mined(slot.group)), None) for slot in slots]


def mined(group: Sequence[Rollout]) -> Iterator[str]:
    """The group's completions that may be taught as wrong, by falling score, each text once."""
    ranked = sorted(group, key=lambda rollout: -rollout.score)
    return iter({rollout.completion: None for rollout in ranked if rollout.teachable_as_wrong})
