"""Finds records by their text in the step files of a run, without holding them all in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Numbered = tuple[int, dict[str, Any]]  # a record's place in its file, from 1 on, and the record


def find(
    files: Sequence[Path], text: str, keep: Callable[[dict[str, Any]], bool] | None, offset: int, count: int
) -> tuple[int, list[Numbered]]:
    """How many records are found, and `count` of them from `offset` on.

    Args:
        files: JSON lines; a half-written last line is left out.
        text: is looked for in each record's texts, in upper or lower case; empty finds all.
        keep: which records are looked at; None takes all.
    """
    wanted, total, shown = text.lower(), 0, []
    raw = json.dumps(wanted, ensure_ascii=False)[1:-1]
    for path in files:
        for number, line in candidates(path, raw):
            on_page = offset <= total < offset + count
            if not (wanted or keep or on_page):
                total += 1
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if (keep and not keep(record)) or not has_text(record, wanted):
                continue
            if on_page:
                shown.append((number, record))
            total += 1
    return total, shown


def candidates(path: Path, raw: str) -> Iterator[tuple[int, str]]:
    """The whole lines of a file, numbered from 1 on, that have `raw` anywhere in them, in upper or lower case."""
    content = path.read_text(encoding="utf-8", errors="replace")
    if raw and raw not in content.lower():
        return
    for number, line in enumerate(content.split("\n")[:-1], 1):
        if line and raw in line.lower():
            yield number, line


def has_text(record: dict[str, Any], wanted: str) -> bool:
    """Whether one of the record's texts has this in it, which is in lower case."""
    return not wanted or any(wanted in value.lower() for value in record.values() if isinstance(value, str))
