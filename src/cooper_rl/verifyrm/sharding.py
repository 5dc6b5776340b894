"""A reward model shared out over the ranks by torch's FSDP2: each holds its part of weights, gradients and optimiser.

A forward pass gathers the weights layer by layer, on all ranks or on none: they make as many passes as the one that
needs most, and no prefix is shared, which would call a part of the model alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from cooper_rl.verifyrm.scoring import buckets, plain_logits


def shard(model: nn.Module) -> None:
    """Shares the weights out over all ranks, in place; before an optimiser is made of them."""
    mesh = init_device_mesh(next(model.parameters()).device.type, (dist.get_world_size(),))
    for layer in model.base_model.layers:
        fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    # the rest too after each pass: else what is put into the parts would not be seen by the next one
    fully_shard(model, mesh=mesh, reshard_after_forward=True)


def is_sharded(model: nn.Module) -> bool:
    """Whether `shard` was called."""
    return isinstance(model, FSDPModule)


def most(count: int, device: torch.device) -> int:
    """The highest of all ranks' counts."""
    highest = torch.tensor(count, device=device)
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    return int(highest)


def score_ids(model: nn.Module, ids_B_T: Sequence[Sequence[int]], *, batch_tokens: int) -> Tensor:
    """Logits of this rank's token ids, shape (B,), as `scoring.score_ids`; every rank must call it, if with none."""
    logits_B = torch.zeros(len(ids_B_T))
    own = list(buckets(range(len(ids_B_T)), [len(ids_T) for ids_T in ids_B_T], batch_tokens))
    for index in range(most(len(own), next(model.parameters()).device)):
        rows = own[index] if index < len(own) else []
        found_R = plain_logits(model, [ids_B_T[row] for row in rows] or [[0]]).cpu()
        logits_B[rows] = found_R[: len(rows)]
        logits_B = logits_B + 0.0 * found_R.sum()  # so that the backward pass, too, is made on all ranks
    return logits_B


def whole(tensor: Tensor) -> Tensor:
    """A tensor with all ranks' parts, each of which must ask for it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gathered(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Whole tensors in main memory, one after another; where they are not to be kept, a rank takes part alone."""
    found = {}
    for name, tensor in tensors.items():
        everything = whole(tensor)
        if keep:
            found[name] = everything.cpu().contiguous()
    return found


@torch.no_grad()  # type: ignore[untyped-decorator]
def own_part(tensor: Tensor) -> Tensor:
    """What this rank holds of a tensor: the memory itself, to be read or written to."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor.detach()


def shared_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A whole tensor shared out as a parameter of its shape is."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    return distribute_tensor(tensor.to(parameter.device), parameter.device_mesh, parameter.placements)
