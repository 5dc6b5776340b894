"""The files of a run, written so that a kill loses at most the step in progress."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import yaml

from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import finite, line_of, whole_records, write_atomically
from cooper_rl.records import ContrastivePair, Report, Rollout

METRICS = "metrics.jsonl"
HELD_OUT = "heldout.jsonl"
LOCK = ".lock"


class Journal:
    """The one writer of a run folder. Every rank has one; the first rank's writes.

    Args:
        folder: the run folder.
        writes: whether this rank is the one that writes.
        every: rollouts and pairs are written of each step that is a multiple of it, and the held-out completions of
            each measurement; 0 means none of them.
    """

    def __init__(self, folder: str | Path, writes: bool = True, every: int = 1) -> None:
        self.folder, self.every = Path(folder), every
        self.writes = writes
        self.begun = False  # whether `begin` was called: the lines in the folder are this run's
        self.last: int | None = None  # the step of the last line
        self._lock: IO[str] | None = None

    def write(self, report: Report) -> None:
        """Writes a step's rollouts and pairs, where it is due, and pairs that were rolled back, a file for each."""
        if not self.writes:
            return
        due = self.every > 0 and report.step % self.every == 0
        if report.batch and due:
            self._records("rollouts", report.step, [_row(rollout) for rollout in report.batch.rollouts])
        if due and (report.pairs or "pairs/count" in report.metrics):
            self._records("pairs", report.step, [_pair(pair) for pair in report.pairs])
        if report.rolled_back:
            self._records("rolled_back", report.step, [_pair(pair) for pair in report.rolled_back])

    def log(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A step's line of metrics.jsonl. More metrics of the last line's step go into that line; what it has stays."""
        if not self.writes:
            return
        row = {"step": step, **{key: finite(value) for key, value in metrics.items()}}
        path = self.folder / METRICS
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = read_metrics(self.folder) if step == self.last and path.is_file() else []
        if rows and rows[-1]["step"] == step:
            rows[-1] = {**row, **rows[-1]}
            write_atomically(path, "".join(map(line_of, rows)))
        else:
            with path.open("a", encoding="utf-8") as file:
                file.write(line_of(row))
        self.last = step

    def log_heldout(self, step: int, measured: Mapping[str, Any]) -> None:
        """A line of heldout.jsonl, and a file of the folder `heldout` with the completions.

        Args:
            measured: what the line has beside the step. Its `answers` are the lines of the file.
        """
        outcomes = dict(measured)
        answers = outcomes.pop("answers", ())
        if self.writes and outcomes:
            if answers and self.every:
                self._records("heldout", step, answers)
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / HELD_OUT).open("a", encoding="utf-8") as file:
                file.write(line_of({"step": step, **outcomes}))

    def _records(self, kind: str, step: int, rows: Sequence[dict[str, Any]]) -> None:
        lines = (line_of({"step": step, **{key: finite(value) for key, value in row.items()}}) for row in rows)
        write_atomically(self.folder / kind / f"step_{step:06d}.jsonl", "".join(lines))

    def begin(self, settings: Mapping[str, Any], environment: Mapping[str, Any], after_step: int) -> None:
        """Writes config.yaml and environment.json, and deletes what the run wrote after this step (-1: everything).

        A finished run that goes on for more steps is no longer marked as finished.

        Raises:
            BadInputError: another process writes into this folder.
        """
        self.begun = True
        if not self.writes:
            return
        self._lock = self._lock or lock(self.folder)
        rewind(self.folder, after_step)
        self.last = after_step
        (self.folder / "finished.json").unlink(missing_ok=True)
        write_atomically(self.folder / "config.yaml", yaml.safe_dump(dict(settings), sort_keys=True))
        write_atomically(self.folder / "environment.json", json.dumps(dict(environment), indent=2) + "\n")

    def finish(self, step: int, seconds: float) -> None:
        """Marks the run as finished."""
        if self.writes:
            write_atomically(self.folder / "finished.json", json.dumps({"step": step, "seconds": seconds}) + "\n")


def lock(folder: Path) -> IO[str]:
    """The folder's lock, which this process holds until it ends.

    Raises:
        BadInputError: another process holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / LOCK).open("a")
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise BadInputError(
            f"{folder}: another process is writing this run; let it end, or choose another --output_dir"
        ) from error
    except OSError:  # a file system without locks
        pass
    return lock


def _row(rollout: Rollout) -> dict[str, Any]:
    """A rollout as it is written: without the data set's worked solution, and without steps where it has none."""
    record = rollout.to_record()
    left_out = {"worked_solution", *(name for name in ("step_ends", "step_values", "aliases") if not record[name])}
    return {key: value for key, value in record.items() if key not in left_out}


def _pair(pair: ContrastivePair) -> dict[str, Any]:
    """A pair as it is written: the step that it parts at is left out where it has none."""
    return {key: value for key, value in asdict(pair).items() if value is not None}


def read_metrics(output_dir: str | Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl. A last line that a kill cut off is left out."""
    return whole_records(Path(output_dir) / METRICS)


def rewind(output_dir: str | Path, step: int) -> None:
    """Deletes what a run wrote after `step`: lines of metrics and measurements, half-written ones too, step files."""
    folder = Path(output_dir)
    for lines in (folder / METRICS, folder / HELD_OUT):
        if lines.is_file():
            kept = [row for row in whole_records(lines) if row["step"] <= step]
            write_atomically(lines, "".join(map(line_of, kept)))
    for kind in ("rollouts", "pairs", "rolled_back", "heldout"):
        for path in (folder / kind).glob("step_*.jsonl"):
            if int(path.stem.split("_")[1]) > step:
                path.unlink()
