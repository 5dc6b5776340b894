"""Ends a process that is one of several ranks."""

from __future__ import annotations

import atexit
import os
import sys


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
