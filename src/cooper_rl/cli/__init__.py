"""The `cooper` command line, by groups of commands."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cooper_rl.cli.entry import app as app
    from cooper_rl.cli.entry import main as main

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """Imports the commands when they are first used: a command alone (`alone`) needs no other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("cooper_rl.cli.entry"), name)
