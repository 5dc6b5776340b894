"""The `cooper` command line, by groups of commands."""

from cooper_rl.cli.entry import app, main

__all__ = ["app", "main"]
