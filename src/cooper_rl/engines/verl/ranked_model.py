"""The reward model across the ranks of a worker group: what the method calls, and what each rank does."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch

from cooper_rl.distributed import free_cache
from cooper_rl.engines.loading import load_reward_model, place_model
from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.settings.train import TrainSettings

Item = TypeVar("Item")
# (name of a method of RewardModelRank, for each of its arguments a list with one element a rank) -> one answer a rank
Call = Callable[..., list[Any]]


class RemoteRewardModel:
    """A `method.protocols.RewardModel` whose weights are in other processes, which both score and learn.

    Args:
        call: runs a method of `RewardModelRank` on every rank: each gets its element of each list.
        size: how many ranks there are.
    """

    def __init__(self, call: Call, size: int) -> None:
        self._call = call
        self.size = size
        self.version = 0
        self.snapshots = 0

    def score(self, triples: Sequence[Scorable]) -> list[float]:
        """Probability, from 0 to 1, that each completion is right."""
        return [score for share in self._call("score", self._shares(triples)) for score in share]

    def start_scores(self, triples: Sequence[Scorable]) -> list[float]:
        """Scores by the reward model as it was when the run began."""
        return [score for share in self._call("start_scores", self._shares(triples)) for score in share]

    def update(self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion]) -> dict[str, float]:
        """Takes one optimiser step on all ranks together. Returns `reward_model/*` metrics."""
        metrics: dict[str, float]
        metrics, self.version = self._call("update", self._shares(pairs), self._shares(labelled))[0]
        return metrics

    def snapshot(self) -> Snapshot:
        """Each rank keeps a copy of its part of the weights and the optimiser's state, in main memory."""
        self.snapshots += 1
        made = Snapshot(self.snapshots)
        self._call("snapshot", self._each(made.number))
        weakref.finalize(made, self._call, "forget", self._each(made.number)).atexit = False
        return made

    def restore(self, snapshot: Snapshot) -> None:
        """Weights and optimiser as they were when the snapshot was made."""
        self._call("restore", self._each(snapshot.number))

    def save(self, folder: Path) -> None:
        """Writes all that `load` needs."""
        self._call("save", self._each(folder))

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote."""
        self.version = self._call("load", self._each(folder))[0]

    def _shares(self, items: Sequence[Item]) -> list[list[Item]]:
        """A run of items for each rank, so that completions of one question, which share a prefix, stay together."""
        cuts = [rank * len(items) // self.size for rank in range(self.size + 1)]
        return [list(items[start:end]) for start, end in itertools.pairwise(cuts)]

    def _each(self, item: Item) -> list[Item]:
        return [item] * self.size


class Snapshot:
    """Stands for the snapshots that the ranks keep under one number, until nothing refers to it any more."""

    def __init__(self, number: int) -> None:
        self.number = number


class RewardModelRank:
    """The reward model of a run, whole or this rank's part of it.

    The process group, where there is one, exists before. Snapshots stay on the rank; they are known by their number.

    Args:
        settings: of the run; they name the reward model.
        device: where it computes.
    """

    def __init__(self, settings: TrainSettings, device: torch.device | str) -> None:
        self.model = place_model(load_reward_model(settings, settings), settings, device, updates=settings.max_steps)
        self.device = device
        self.snapshots: dict[int, Any] = {}

    def score(self, share: Sequence[Scorable]) -> list[float]:
        """The scores of this rank's share."""
        with self._lent_memory():
            return self.model.score(share)

    def start_scores(self, share: Sequence[Scorable]) -> list[float]:
        """The scores of this rank's share as the run began; the present ones where the model cannot tell."""
        start_scores: Callable[[Sequence[Scorable]], list[float]]
        start_scores = getattr(self.model, "start_scores", self.model.score)
        with self._lent_memory():
            return start_scores(share)

    def update(
        self, pairs: Sequence[ContrastivePair], labelled: Sequence[LabelledCompletion]
    ) -> tuple[dict[str, float], int]:
        """(metrics of the whole, version) after one optimiser step on the shares of all ranks."""
        with self._lent_memory():
            return self.model.update(pairs, labelled), self.model.version

    def snapshot(self, number: int) -> None:
        """Keeps a snapshot under this number."""
        with self._lent_memory():
            self.snapshots[number] = self.model.snapshot()

    def restore(self, number: int) -> None:
        """Goes back to the snapshot with this number."""
        with self._lent_memory():
            self.model.restore(self.snapshots[number])

    @contextmanager
    def _lent_memory(self) -> Iterator[None]:
        """Afterwards the device has back what only the call needed: the policy's server wants it."""
        try:
            yield
        finally:
            free_cache(torch.device(self.device))

    def forget(self, number: int) -> None:
        """Frees the memory of a snapshot."""
        self.snapshots.pop(number, None)

    def save(self, folder: Path) -> None:
        """Writes the reward model with its optimiser."""
        with self._lent_memory():
            self.model.save(folder)

    def load(self, folder: Path) -> int:
        """Restores what `save` wrote, and returns the version."""
        with self._lent_memory():
            self.model.load(folder)
        return self.model.version
