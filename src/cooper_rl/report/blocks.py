"""The rollouts of a run for its report: counted by step, and packed for the page's reader. Each file is read once."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from cooper_rl.jsonl import whole_records
from cooper_rl.report.page import cell_of, steps_of
from cooper_rl.report.runs import Run

PACKED_BYTES = 160_000_000  # of rollout files that a report holds; beyond that, steps at equal distances
BLOCK_CHARACTERS = 500_000  # of JSON; larger ones are unpacked too slowly, smaller ones are searched too slowly
BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


@dataclass(frozen=True)
class Step:
    """The rollouts of one step.

    Args:
        cells: how many rollouts are in each cell of `page.CELLS`.
        judged: for each of `BINS` how many scored rollouts the rule could judge, and how many of these are CORRECT.
        rows: the rollouts as JSON, one list a rollout; empty where the report leaves them out.
    """

    step: int
    cells: Counter[str]
    judged: tuple[tuple[int, int], ...]
    rows: str

    @property
    def count(self) -> int:
        """The number of rollouts."""
        return self.cells.total()


class Block(NamedTuple):
    """Neighbouring steps that are packed together.

    Args:
        steps: their numbers.
        counts: how many rollouts each has.
        packed: base64 of compressed JSON: for each step its list of rollouts.
    """

    steps: tuple[int, ...]
    counts: tuple[int, ...]
    packed: str


def kept_files(runs: Sequence[Run], most: int | None = None) -> set[Path]:
    """The rollout files that a report of these runs holds: all, or steps at equal distances with each run's last.

    Args:
        most: the size of all together, in bytes; by default `PACKED_BYTES`.
    """
    files = {run.path: run.steps_of("rollouts") for run in runs}
    size = sum(path.stat().st_size for paths in files.values() for path in paths)
    every = max(1, -(-size // (most or PACKED_BYTES)))
    return {path for paths in files.values() for path in paths[::-1][::every]}


def read_steps(run: Run, kept: set[Path]) -> tuple[list[Step], list[Block]]:
    """All steps of a run without their rows, and the blocks with the rows of those whose file is in `kept`."""
    steps, blocks, waiting = [], [], []
    for path in run.steps_of("rollouts"):
        step = read_step(path, rows=path in kept)
        steps.append(replace(step, rows=""))
        if step.rows:
            waiting.append(step)
        if sum(len(each.rows) for each in waiting) > BLOCK_CHARACTERS:
            blocks.append(packed(waiting))
            waiting = []
    return steps, [*blocks, packed(waiting)] if waiting else blocks


def packed(steps: Sequence[Step]) -> Block:
    """Steps in one block."""
    text = f"[{','.join(step.rows for step in steps)}]".encode("utf-8", "replace")
    data = base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()
    return Block(tuple(step.step for step in steps), tuple(step.count for step in steps), data)


def read_step(path: Path, *, rows: bool) -> Step:
    """One file of `rollouts/`, with its rows or without."""
    records = whole_records(path)
    cells = [cell_of(record) for record in records]
    judged = [[0, 0] for _ in BINS]
    for record, cell in zip(records, cells, strict=True):
        score = number_of(record, "score")
        if score is not None and cell != "unclear":
            place = next((place for place, (_, high) in enumerate(BINS) if score < high), len(BINS) - 1)
            judged[place][0] += 1
            judged[place][1] += record["verdict"] == "CORRECT"
    lists = [row_of(record, cell) for record, cell in zip(records, cells, strict=True)] if rows else []
    text = json.dumps(lists, ensure_ascii=False, separators=(",", ":")) if rows else ""
    counted = tuple((many, right) for many, right in judged)
    return Step(int(path.stem.split("_")[1]), Counter(cells), counted, text)


def row_of(record: Mapping[str, Any], cell: str) -> list[Any]:
    """A rollout as the page's reader takes it."""
    texts = [str(record.get(name, "")) for name in ("question", "reference_answer", "completion", "verdict")]
    steps = [[end, round(value, 4)] for end, value in steps_of(record)]
    return [*texts, cell, number_of(record, "score"), number_of(record, "reward"), *([steps] if steps else [])]


def number_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number of a record, to four places; None where there is none."""
    value = record.get(name)
    return round(float(value), 4) if isinstance(value, int | float) else None
