"""`World`, which the method asks for, on a torch process group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from cooper_rl.verifyrm import ranks

Item = TypeVar("Item")


class TorchWorld:
    """A `method.world.World`. Without a process group it is a single process.

    Args:
        device: where tensors are summed; the group's backend must support it.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = device
        self.rank, self.size = ranks.rank(), ranks.size()

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items of all ranks, in the order of the ranks."""
        if self.size == 1:
            return list(items)
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, list(items))
        return [item for own in everyone for item in own]

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over the ranks, in float32."""
        found: list[float] = ranks.summed(torch.tensor(list(numbers), device=self.device)).tolist()
        return found
