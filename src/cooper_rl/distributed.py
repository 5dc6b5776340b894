"""The processes of a run: their numbers, what they exchange, the device of each, and how one of them ends.

torch is imported where it is used, since `RankExit` has to be made before it.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import resource
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cooper_rl.errors import BadInputError, CooperError

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
BUCKET_BYTES = 64 * 2**20  # of tensors that are summed over the ranks together
UNDER_WAY = 4  # such sums that are begun before the first is waited for; each needs a copy of its tensors


def size() -> int:
    """How many ranks train together; 1 without a process group."""
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """This process's number among the ranks, from 0."""
    import torch.distributed as dist

    return dist.get_rank() if size() > 1 else 0


def add_up(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of the tensor over the ranks; the tensor itself where there is one rank."""
    import torch.distributed as dist

    if size() == 1:
        return tensor
    total = tensor.clone()
    dist.all_reduce(total)
    return total


def most(count: int, device: torch.device) -> int:
    """The highest of all ranks' counts. Every rank calls it."""
    import torch
    import torch.distributed as dist

    if size() == 1:
        return count
    highest = torch.tensor(count, device=device)
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    return int(highest)


def of_first(make: Callable[[], Item]) -> Item:
    """What `make` gives on the first rank, for all ranks; the others do not call it. Every rank calls this.

    Raises:
        CooperError, OSError: as `make` does, on all ranks.
    """
    import torch.distributed as dist

    if size() == 1:
        return make()
    found: list[Any] = [None, None]
    if rank() == 0:
        try:
            found[0] = make()
        except (CooperError, OSError) as error:  # else the other ranks would wait for it
            found[1] = error
    dist.broadcast_object_list(found, src=0)
    if found[1] is not None:
        raise found[1]
    return found[0]  # type: ignore[no-any-return]


def add_up_all(tensors: Sequence[torch.Tensor]) -> None:
    """Sums each tensor over the ranks, in place: many small ones travel together. All are on one device, of one type.

    One at a time, each of some hundred gradients would wait for the ranks and need a copy of itself. The next ones are
    put together while the first are on their way.
    """
    import torch
    import torch.distributed as dist

    begun: deque[tuple[Any, torch.Tensor, list[torch.Tensor]]] = deque()
    bucket: list[torch.Tensor] = []
    for index, tensor in enumerate(tensors):
        bucket.append(tensor)
        if index + 1 < len(tensors) and sum(t.nbytes for t in (*bucket, tensors[index + 1])) <= BUCKET_BYTES:
            continue
        flat = torch.cat([each.flatten() for each in bucket]) if len(bucket) > 1 else tensor
        begun.append((dist.all_reduce(flat, async_op=True), flat, bucket))
        bucket = []
        if len(begun) == UNDER_WAY:
            _take_in(*begun.popleft())
    while begun:
        _take_in(*begun.popleft())


def _take_in(work: Any, flat: torch.Tensor, bucket: Sequence[torch.Tensor]) -> None:
    """Waits for a sum that was begun, and copies it to its tensors."""
    work.wait()
    if len(bucket) > 1:
        for each, total in zip(bucket, flat.split([each.numel() for each in bucket]), strict=True):
            each.copy_(total.view_as(each))


def send(tensor: torch.Tensor, owner: int) -> None:
    """Gives every rank the owner's tensor, in place."""
    import torch.distributed as dist

    if size() > 1:
        dist.broadcast(tensor, owner)


def free_cache(device: torch.device) -> None:
    """Gives the memory that torch keeps for itself back to the device, whose other processes may need it."""
    import torch

    if device.type != "cpu":
        torch.get_device_module(device).empty_cache()


def peak_gigabytes(device: torch.device) -> float:
    """The peak memory so far: of the accelerator, or of this process on a CPU."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device)) / 1e9
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.is_file() else None
    kilobytes = found[1] if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # which has its parent's too
    return int(kilobytes) * 1024 / 1e9


def has_bfloat16() -> bool:
    """Whether there is a GPU that computes in bfloat16 by itself."""
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False))


def precision(
    bf16: bool | None, tf32: bool | None = None, *, fp16: bool = False, use_cpu: bool = False
) -> tuple[bool, bool | None]:
    """`bf16` and `tf32`: as they are given, else on where the GPU computes in bfloat16. `bf16` False means neither."""
    able = not use_cpu and has_bfloat16()
    return able and not fp16 if bf16 is None else bf16, True if able and tf32 is None and bf16 is not False else tf32


def start_precision(bf16: bool | None, **others: bool) -> bool:
    """Whether to compute in bfloat16, by `precision`; where it says TF32, float32 products take it from now on.

    A Trainer does the latter by itself.
    """
    in_bfloat16, tf32 = precision(bf16, **others)
    if tf32:
        from transformers.utils.import_utils import enable_tf32

        enable_tf32(True)
    return in_bfloat16


def to_main_memory(tensor: torch.Tensor, buffer: torch.Tensor | None = None) -> torch.Tensor:
    """The tensor's copy on the CPU: in the buffer of its shape, else in new memory, pinned where CUDA copies to it."""
    import torch

    if buffer is None:
        buffer = torch.empty_like(tensor, device="cpu", pin_memory=tensor.device.type == "cuda")
    return buffer.copy_(tensor)


@contextmanager
def loading_whole() -> Iterator[None]:
    """A model that is loaded within this is whole on every rank, whatever was announced for the policy's sharding.

    Under FSDP's efficient loading some versions of transformers give empty weights to all ranks but the first, and wait
    for FSDP to send them. Under ZeRO-3 they share each new model's weights out. Nobody gathers those of a reward model.
    """
    from transformers.integrations import deepspeed

    switch = "FSDP_CPU_RAM_EFFICIENT_LOADING"
    before, config = os.environ.get(switch), deepspeed._hf_deepspeed_config_weak_ref
    os.environ[switch] = "false"
    deepspeed.unset_hf_deepspeed_config()
    try:
        yield
    finally:
        deepspeed._hf_deepspeed_config_weak_ref = config
        if before is None:
            del os.environ[switch]
        else:
            os.environ[switch] = before


def check_same(parameters: Iterable[torch.Tensor], what: str) -> None:
    """Compares the weights' sums over the ranks. Every rank calls it.

    Raises:
        BadInputError: the ranks have different weights.
    """
    import torch
    import torch.distributed as dist

    if size() == 1:
        return
    sums = [each.detach().double().abs().sum() for each in parameters]
    total = torch.stack(sums).sum()
    both = torch.stack([total, -total])
    dist.all_reduce(both, op=dist.ReduceOp.MAX)
    most, least = both[0].item(), -both[1].item()
    if most - least > 1e-9 * most or not most:  # cards of two kinds add up in two orders
        raise BadInputError(
            f"{what}: the ranks hold different weights (sums of {least:.6g} to {most:.6g}); load it from a folder that"
            " all of them can read, and switch efficient loading off (fsdp_cpu_ram_efficient_loading: false)"
        )


def own_device() -> torch.device:
    """This process's accelerator, by its local rank if a launcher started several processes; the CPU without one."""
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if accelerator is None:
        return torch.device("cpu")
    return torch.device(accelerator.type, int(os.environ.get("LOCAL_RANK", 0)) % torch.accelerator.device_count())


def visible_devices() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them; none where there is no torch or no GPU."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    named = [name.strip() for name in (given or "").split(",") if name.strip()]
    return named[:count] if named else [str(number) for number in range(count)]


def check_launched() -> None:
    """Refuses a single process that sees several GPUs: TRL would split the policy's layers over all of them.

    Raises:
        BadInputError: with both ways out.
    """
    import torch

    count = torch.cuda.device_count()
    if count > 1 and "WORLD_SIZE" not in os.environ:
        raise BadInputError(
            f"{count} GPUs are visible to one process: start one for each (torchrun --standalone --nproc_per_node"
            f" {count} -m cooper_rl.cli train ...), or set CUDA_VISIBLE_DEVICES=0"
        )


class TorchRanks:
    """The `method.protocols.Ranks` of a torch process group. Without one it is a single process.

    Args:
        device: where tensors are summed; the group's backend must support it.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = device
        self.rank, self.size = rank(), size()

    def gather(self, items: Sequence[Item]) -> list[Item]:
        """The items of all ranks, in the order of the ranks."""
        import torch.distributed as dist

        if self.size == 1:
            return list(items)
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, list(items))
        return [item for own in everyone for item in own]

    def add_up(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over the ranks, in float32."""
        import torch

        found: list[float] = add_up(torch.tensor(list(numbers), device=self.device)).tolist()
        return found


class RankExit:
    """Ends a rank without Python's final cleanup, if a launcher (torchrun, accelerate, DeepSpeed) started it.

    Make one at the very start of the program, before torch is imported, so that its exit handler runs last. Threads and
    other exit handlers end as usual; only the final destruction of Python's objects is skipped.

    If a gloo thread frees a tensor during that destruction, the process aborts ("terminate called without an active
    exception"), and the launcher reports that a complete run has failed. Destroying the process group makes this rarer,
    but its threads stay as long as anything refers to it, as sharded models do.
    Source: https://github.com/pytorch/pytorch/issues/190489
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._end)

    def leave(self, code: int = 0) -> None:
        """Ends this rank with `code`; without an error it waits for the others first. Without a launcher it returns."""
        if "WORLD_SIZE" not in os.environ:
            return
        if code == 0:
            leave_group()
        self.code = code
        sys.exit(code)

    def _end(self) -> None:
        if self.code is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.code)


def leave_group() -> None:
    """Waits for the other ranks, then leaves their process group, if this process is in one."""
    import torch
    from accelerate import PartialState

    if torch.distributed.is_initialized():
        PartialState().wait_for_everyone()
        PartialState().destroy_process_group()
