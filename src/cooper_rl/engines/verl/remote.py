"""The reward model as the method sees it: its calls are shared out over the ranks of a worker group."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable

Item = TypeVar("Item")
Call = Callable[
    ..., list[Any]
]  # (name of a method of RewardModelRank, one list of arguments a rank) -> one answer each


class Snapshot:
    """Stands for the snapshots that the ranks keep under one number, until nothing refers to it any more."""

    def __init__(self, number: int) -> None:
        self.number = number


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
