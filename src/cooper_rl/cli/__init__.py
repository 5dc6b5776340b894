"""The `cooper` command line, by groups of commands."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cooper_rl.cli.__main__ import app as app
    from cooper_rl.cli.__main__ import main as main

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin while they wait starve each other on a busy CPU
if sys.stderr is None or not sys.stderr.isatty():  # no bars in a log, whichever library would draw them
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """Imports the commands when they are first used: a command alone (`alone`) needs no other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("cooper_rl.cli.__main__"), name)
