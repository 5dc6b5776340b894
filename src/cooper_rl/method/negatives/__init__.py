"""Where wrong completions come from, one class a file. `source.py` has the contract; a user's own are found alike."""

from cooper_rl.method.negatives.source import NegativeSource, Slot, find_source

__all__ = ["NegativeSource", "Slot", "find_source"]
