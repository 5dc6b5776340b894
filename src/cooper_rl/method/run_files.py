"""The files of a run, written so that a kill loses at most the step in progress."""

from __future__ import annotations

import json
import logging
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cooper_rl.jsonl import line_of, whole_records, write_atomically

logger = logging.getLogger(__name__)
COMPLETE = "complete.json"  # a checkpoint folder without it was cut off by a kill


def finite(value: Any) -> Any:
    """NaN and infinities as null: JSON has none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def append_metrics(output_dir: str, step: int, metrics: dict[str, Any]) -> None:
    """One line of metrics.jsonl."""
    line = line_of({"step": step, **{key: finite(value) for key, value in metrics.items()}})
    path = Path(output_dir) / "metrics.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


def read_metrics(output_dir: str | Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; one that a kill cut off is left out."""
    return whole_records(Path(output_dir) / "metrics.jsonl")


def step_file(output_dir: str, kind: str, step: int) -> Path:
    """`rollouts/step_000012.jsonl`, `pairs/step_000012.jsonl`."""
    return Path(output_dir) / kind / f"step_{step:06d}.jsonl"


def write_records(path: Path, step: int, records: Sequence[Any]) -> None:
    """Records (dataclasses) as JSONL with their step."""
    rows = [{"step": step, **{k: finite(v) for k, v in asdict(record).items()}} for record in records]
    write_atomically(path, "".join(map(line_of, rows)))


def complete_checkpoint(folder: Path, step: int) -> None:
    """Marks a checkpoint as written to its end, with the size and checksum of each of its files."""
    files = {str(path.relative_to(folder)): _fingerprint(path) for path in _files(folder)}
    write_atomically(folder / COMPLETE, json.dumps({"step": step, "files": files}) + "\n")


def last_checkpoint(output_dir: str | Path) -> Path | None:
    """The newest checkpoint that was written to its end and is still what was written; a warning names others."""
    found = sorted(Path(output_dir).glob("checkpoint-*"), key=lambda path: -int(path.name.split("-")[1]))
    for folder in found:
        damage = _damage(folder)
        if not damage:
            return folder
        logger.warning("%s is left out: %s", folder, damage)
    return None


def _damage(folder: Path) -> str:
    """What is wrong with a checkpoint, or nothing."""
    try:
        files = json.loads((folder / COMPLETE).read_text())["files"]
    except FileNotFoundError:
        return "it was not written to its end"
    except (json.JSONDecodeError, KeyError, TypeError):
        return f"{COMPLETE} cannot be read"
    for name, fingerprint in files.items():
        if not (folder / name).is_file():
            return f"{name} is missing"
        if _fingerprint(folder / name) != fingerprint:
            return f"{name} is not what was written"
    return ""


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != COMPLETE)


def _fingerprint(path: Path) -> list[int]:
    """Size in bytes and CRC-32."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return [path.stat().st_size, checksum]


def rewind(output_dir: str | Path, step: int) -> None:
    """Drops what a run wrote after `step`: metrics lines (a half-written last one too) and step files."""
    folder = Path(output_dir)
    metrics = folder / "metrics.jsonl"
    if metrics.is_file():
        kept = [row for row in read_metrics(folder) if row["step"] <= step]
        write_atomically(metrics, "".join(map(line_of, kept)))
    for kind in ("rollouts", "pairs", "rolled_back"):
        for path in (folder / kind).glob("step_*.jsonl"):
            if int(path.stem.split("_")[1]) > step:
                path.unlink()
