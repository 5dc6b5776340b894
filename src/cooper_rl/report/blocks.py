"""The rollouts of a run for its report: counted by step, and packed for the page's reader. Each file is read once."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cooper_rl.jsonl import whole_records
from cooper_rl.report.page import cell_of
from cooper_rl.report.runs import Run

PACKED_BYTES = 160_000_000  # of rollout files that a report holds; beyond that, steps at equal distances
BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


@dataclass(frozen=True)
class Step:
    """The rollouts of one step.

    Args:
        cells: how many rollouts are in each cell of `page.CELLS`.
        judged: for each of `BINS` how many scored rollouts the rule could judge, and how many of these are CORRECT.
        packed: the rollouts as base64 of compressed JSON, one list a rollout; empty where the report leaves them out.
    """

    step: int
    cells: Counter[str]
    judged: tuple[tuple[int, int], ...]
    packed: str

    @property
    def count(self) -> int:
        """The number of rollouts."""
        return self.cells.total()


def kept_files(runs: Sequence[Run], most: int | None = None) -> set[Path]:
    """The rollout files that a report of these runs holds: all, or steps at equal distances with each run's last.

    Args:
        most: the size of all together, in bytes; by default `PACKED_BYTES`.
    """
    files = {run.path: run.steps_of("rollouts") for run in runs}
    size = sum(path.stat().st_size for paths in files.values() for path in paths)
    every = max(1, -(-size // (most or PACKED_BYTES)))
    return {path for paths in files.values() for path in paths[::-1][::every]}


def read_steps(run: Run, kept: set[Path]) -> list[Step]:
    """All steps of a run. The rollouts of those whose file is in `kept` are packed."""
    return [read_step(path, pack=path in kept) for path in run.steps_of("rollouts")]


def read_step(path: Path, *, pack: bool) -> Step:
    """One file of `rollouts/`."""
    records = whole_records(path)
    cells = [cell_of(record) for record in records]
    judged = [[0, 0] for _ in BINS]
    for record, cell in zip(records, cells, strict=True):
        score = number_of(record, "score")
        if score is not None and cell != "unclear":
            place = next((place for place, (_, high) in enumerate(BINS) if score < high), len(BINS) - 1)
            judged[place][0] += 1
            judged[place][1] += record["verdict"] == "CORRECT"
    rows = [row_of(record, cell) for record, cell in zip(records, cells, strict=True)] if pack else []
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode() if pack else ""
    counted = tuple((many, right) for many, right in judged)
    return Step(int(path.stem.split("_")[1]), Counter(cells), counted, packed)


def row_of(record: Mapping[str, Any], cell: str) -> list[Any]:
    """A rollout as the page's reader takes it."""
    texts = [str(record.get(name, "")) for name in ("question", "reference_answer", "completion", "verdict")]
    return [*texts, cell, number_of(record, "score"), number_of(record, "reward")]


def number_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number of a record, to four places; None where there is none."""
    value = record.get(name)
    return round(float(value), 4) if isinstance(value, int | float) else None
