"""What the method asks of the processes of a run: to gather records and to sum numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class World(Protocol):
    """One or several processes (ranks) that train together. Every rank makes the same calls in the same order."""

    rank: int
    size: int

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items of all ranks, in the order of the ranks."""

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over the ranks."""


class Alone:
    """A single process."""

    rank = 0
    size = 1

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items themselves."""
        return list(items)

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """The numbers themselves."""
        return list(numbers)
