"""The reward model on one rank of its worker group: scores and learns its share of the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from cooper_rl.engines.loading import load_reward_model, placed
from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.settings.train import TrainSettings


class RewardModelRank:
    """The reward model of a run, whole or this rank's part of it.

    The process group, where there is one, exists before. Snapshots stay on the rank; they are known by their number.

    Args:
        settings: of the run; they name the reward model.
        device: where it computes.
    """

    def __init__(self, settings: TrainSettings, device: torch.device | str) -> None:
        self.model = placed(load_reward_model(settings, settings), settings, device, updates=settings.max_steps)
        self.snapshots: dict[int, Any] = {}

    def score(self, share: Sequence[Scorable]) -> list[float]:
        """The scores of this rank's share."""
        return self.model.score(share)

    def start_scores(self, share: Sequence[Scorable]) -> list[float]:
        """The scores of this rank's share as the run began; the present ones where the model cannot tell."""
        start_scores: Callable[[Sequence[Scorable]], list[float]]
        start_scores = getattr(self.model, "start_scores", self.model.score)
        return start_scores(share)

    def update(
        self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion]
    ) -> tuple[dict[str, float], int]:
        """(metrics of the whole, version) after one optimiser step on the shares of all ranks."""
        return self.model.update(pairs, labelled), self.model.version

    def snapshot(self, number: int) -> None:
        """Keeps a snapshot under this number."""
        self.snapshots[number] = self.model.snapshot()

    def restore(self, number: int) -> None:
        """Goes back to the snapshot with this number."""
        self.model.restore(self.snapshots[number])

    def forget(self, number: int) -> None:
        """Frees the memory of a snapshot."""
        self.snapshots.pop(number, None)

    def save(self, folder: Path) -> None:
        """Writes the reward model with its optimiser."""
        self.model.save(folder)

    def load(self, folder: Path) -> int:
        """Restores what `save` wrote, and returns the version."""
        self.model.load(folder)
        return self.model.version
