"""The files of a run, written so that a kill loses at most the step in progress."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cooper_rl.jsonl import write_atomically

COMPLETE = "complete.json"  # a checkpoint folder without it was cut off by a kill


def finite(value: Any) -> Any:
    """NaN and infinities as null: JSON has none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def append_metrics(output_dir: str, step: int, metrics: dict[str, Any]) -> None:
    """One line of metrics.jsonl."""
    line = json.dumps({"step": step, **{key: finite(value) for key, value in metrics.items()}})
    path = Path(output_dir) / "metrics.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(line + "\n")


def step_file(output_dir: str, kind: str, step: int) -> Path:
    """`rollouts/step_000012.jsonl`, `pairs/step_000012.jsonl`."""
    return Path(output_dir) / kind / f"step_{step:06d}.jsonl"


def write_records(path: Path, step: int, records: Sequence[Any]) -> None:
    """Records (dataclasses) as JSONL with their step."""
    rows = [{"step": step, **{k: finite(v) for k, v in asdict(record).items()}} for record in records]
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def last_checkpoint(output_dir: str | Path) -> Path | None:
    """The newest checkpoint that was written to its end."""
    found = [p for p in Path(output_dir).glob("checkpoint-*") if (p / COMPLETE).is_file()]
    return max(found, key=lambda path: int(path.name.split("-")[1]), default=None)


def rewind(output_dir: str | Path, step: int) -> None:
    """Drops what a run wrote after `step`: metrics lines (a half-written last one too) and step files."""
    folder = Path(output_dir)
    metrics = folder / "metrics.jsonl"
    if metrics.is_file():
        kept = []
        for line in metrics.read_text().splitlines():
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line + "\n")
            except json.JSONDecodeError:
                continue
        write_atomically(metrics, "".join(kept))
    for kind in ("rollouts", "pairs", "rolled_back"):
        for path in (folder / kind).glob("step_*.jsonl"):
            if int(path.stem.split("_")[1]) > step:
                path.unlink()
