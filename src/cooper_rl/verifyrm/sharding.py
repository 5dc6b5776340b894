"""A reward model sharded over the ranks with torch's FSDP2: each holds a part of weights, gradients and optimiser.

A forward pass gathers the weights layer by layer, so every rank must take part. All ranks therefore make as many passes
as the rank that needs most. Completions do not share prefixes here, since that would call only a part of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from cooper_rl.distributed import check_same, most
from cooper_rl.packing import buckets
from cooper_rl.verifyrm.logits import plain_logits


def shard(model: nn.Module) -> None:
    """Shards the weights over all ranks, in place. Call it before the optimiser is made.

    Raises:
        BadInputError: the ranks have different weights, and the sharded model would be a mixture of them.
    """
    check_same(model.parameters(), "reward model")
    mesh = init_device_mesh(next(model.parameters()).device.type, (dist.get_world_size(),))
    for layer in model.base_model.layers:
        fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    # reshard the other weights after each pass too: the next pass must see what was copied into the parts
    fully_shard(model, mesh=mesh, reshard_after_forward=True)


def is_sharded(model: nn.Module) -> bool:
    """Whether `shard` was called."""
    return isinstance(model, FSDPModule)


def score_sharded(model: nn.Module, ids_B_T: Sequence[Sequence[int]], *, batch_tokens: int) -> Tensor:
    """As `logits.score_ids`: logits of this rank's token ids, shape (B,). Every rank must call it, even with none."""
    logits_B = torch.zeros(len(ids_B_T))
    own = list(buckets(range(len(ids_B_T)), [len(ids_T) for ids_T in ids_B_T], batch_tokens))
    for index in range(most(len(own), next(model.parameters()).device)):
        rows = own[index] if index < len(own) else []
        found_R = plain_logits(model, [ids_B_T[row] for row in rows] or [[0]]).cpu()
        logits_B[rows] = found_R[: len(rows)]
        logits_B = logits_B + 0.0 * found_R.sum()  # makes the backward pass run on all ranks too
    return logits_B


def whole(tensor: Tensor) -> Tensor:
    """The whole tensor, gathered from the parts of all ranks. Every rank must call this."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gather(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Gathers whole tensors into main memory, one after another. Every rank must call this.

    Args:
        keep: False returns nothing: this rank only takes part in the gathering.
    """
    found = {}
    for name, tensor in tensors.items():
        everything = whole(tensor)
        if keep:
            found[name] = everything.cpu().contiguous()
    return found


@torch.no_grad()  # type: ignore[untyped-decorator]
def own_part(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor. It is the memory itself, not a copy, so that it can be written to."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor.detach()


def shard_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A whole tensor, sharded in the same way as a parameter of its shape."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    return distribute_tensor(tensor.to(parameter.device), parameter.device_mesh, parameter.placements)
