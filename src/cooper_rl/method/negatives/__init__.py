"""Negative sources: where wrong completions come from. Each is one class in one file; `source.py` has the contract."""

from cooper_rl.method.negatives.source import NegativeSource, Slot, find_source

__all__ = ["NegativeSource", "Slot", "find_source"]
