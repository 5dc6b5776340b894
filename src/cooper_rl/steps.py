"""Where the steps of a worked solution end: its lines or its sentences, as offsets of characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LINE = re.compile(r"[^\n]*\S[^\n]*")
# A sentence ends at a mark with space behind it, or with its line. A decimal point and "1." before a step are no ends.
_SENTENCE = re.compile(r"\S.*?(?:(?<!^\d)(?<!^\d\d)[.!?][\"')\]*$]*(?=\s)|$)", re.MULTILINE)
KINDS = {"line": _LINE, "sentence": _SENTENCE}


def step_ends(text: str, kind: str) -> list[int]:
    """Offsets just after each step; the last is the length of the text. Text without any character has no step.

    Blank lines are no steps, so that empty steps cannot be written.

    Args:
        kind: `line` or `sentence`.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"steps are lines or sentences: give line or sentence, not {kind!r}")
    ends = [found.end() for found in KINDS[kind].finditer(text)]
    return [*ends[:-1], len(text)] if ends else []


def first_below(values_S: Iterable[float], threshold: float) -> int:
    """The index of the first value below the threshold, or -1."""
    return next((step for step, value in enumerate(values_S) if value < threshold), -1)
