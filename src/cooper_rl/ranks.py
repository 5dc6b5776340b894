"""How a rank of several processes ends."""

from __future__ import annotations

import atexit
import os
import sys


class RankExit:
    """Ends a rank that a launcher (torchrun, accelerate, DeepSpeed) started without Python being taken apart.

    Make one first thing in the program, before torch is imported: its exit handler then runs last. Threads and exit
    handlers end as usual; only the taking apart of Python's objects is left out. A gloo thread that frees a tensor just
    then would abort the process ("terminate called without an active exception"), and the launcher would call a whole
    run failed. Destroying the process group makes that rarer: its threads stay while anything refers to it, as sharded
    models do. Source: https://github.com/pytorch/pytorch/issues/190489
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._end)

    def leave(self, code: int = 0) -> None:
        """Ends this rank with `code`, a rank without an error after the others. Without a launcher it returns."""
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
