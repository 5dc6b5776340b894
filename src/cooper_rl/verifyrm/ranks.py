"""The process group of a run, as the reward model uses it. Without a group there is one rank."""

from __future__ import annotations

import torch.distributed as dist
from torch import Tensor


def size() -> int:
    """How many ranks train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """This process's number among the ranks, from 0."""
    return dist.get_rank() if size() > 1 else 0


def summed(tensor: Tensor) -> Tensor:
    """The sum of the tensor over the ranks; the tensor itself where there is one rank."""
    if size() == 1:
        return tensor
    total = tensor.clone()
    dist.all_reduce(total)
    return total
