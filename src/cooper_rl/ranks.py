"""How a rank of several processes ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading


def leave(code: int = 0) -> None:
    """Ends this process with `code` where a launcher (torchrun, accelerate, DeepSpeed) started it; elsewhere returns.

    Exit handlers run and output is flushed, as by `sys.exit`, but Python is not taken apart: a thread of gloo that
    lets go of a tensor just then is ended by Python inside C++ code that cannot be, the process aborts ("terminate
    called without an active exception") and the launcher calls a complete run failed. Destroying the process group
    makes that rarer: its threads stay while anything refers to it, as sharded models do.

    A rank without an error waits for the others. Source: https://github.com/pytorch/pytorch/issues/190489
    """
    if "WORLD_SIZE" not in os.environ:
        return
    if code == 0:
        leave_group()
    threading._shutdown()  # type: ignore[attr-defined]  # these two as multiprocessing ends its processes
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def leave_group() -> None:
    """Waits for the other ranks, then leaves their process group, if this process is in one."""
    import torch
    from accelerate import PartialState

    if torch.distributed.is_initialized():
        PartialState().wait_for_everyone()
        PartialState().destroy_process_group()
