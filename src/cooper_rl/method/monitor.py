"""Monitors watch each step after the update, and may roll it back, change the reward or stop the run.

`Skips` ends a run whose steps teach nothing any more.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.jsonl import write_atomically
from cooper_rl.records import Report

STATE = "monitors.json"  # the file in a checkpoint that holds the monitors' state
VERIFIER = "verifier"


class Monitor(ABC):
    """Watches a run. Its state is in every checkpoint, under its name.

    Monitors run in their order, each on the report that the one before it has added to. A user's own is named in the
    setting `monitors`, as `module:Class` or as an entry point of the group `cooper_rl.monitors`.
    """

    name = ""  # under which a checkpoint keeps its state
    reward: str | None = None  # the reward that the run is to use from now on; None leaves it as it is

    def begin(self) -> None:
        """Called before the first step of a new run."""

    @abstractmethod
    def after(self, report: Report, *, whole: bool) -> Report:
        """The step's report with this monitor's metrics and decisions added.

        Args:
            whole: True where a checkpoint follows, so that the guard checks its whole set.
        """

    def before_save(self, report: Report) -> Report:
        """Called instead of `after` where a checkpoint follows a step without a fresh batch."""
        return report

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restores what `state` gave. Called instead of `begin`, after the reward model has been loaded."""


def check_report(monitor: Monitor, report: Any) -> Report:
    """The report that a monitor returned.

    Raises:
        BadInputError: it returned something else.
    """
    if not isinstance(report, Report):
        raise BadInputError(f"monitor {type(monitor).__name__}: returned a {type(report).__name__}, not the Report")
    return report


def save_states(monitors: Sequence[Monitor], folder: Path) -> None:
    """Writes the monitors' state into a checkpoint."""
    states = {monitor.name: monitor.state() for monitor in monitors}
    write_atomically(folder / STATE, json.dumps(states) + "\n")


def load_states(monitors: Sequence[Monitor], folder: Path) -> None:
    """Restores what `save_states` wrote. A monitor that has no state in the checkpoint begins anew."""
    states = json.loads((folder / STATE).read_text()) if (folder / STATE).is_file() else {}
    for monitor in monitors:
        if states.get(monitor.name):
            monitor.load_state(states[monitor.name])
        else:
            monitor.begin()


class Skips:
    """Counts the steps in a row that taught nothing, for want of a finite gradient or of any verdict.

    Args:
        limit: the run ends after more than this many in a row.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_a_row: Counter[str] = Counter()

    def count(self, model: str, skipped: bool) -> None:
        """Counts a step of the policy, the reward model or the verifier.

        Raises:
            CooperError: more than `limit` in a row were skipped.
        """
        self.in_a_row[model] = self.in_a_row[model] + 1 if skipped else 0
        count = self.in_a_row[model]
        if count <= self.limit:
            return
        if model == VERIFIER:
            raise CooperError(
                f"in {count} steps in a row the verifier failed on every completion (verdict ERROR);"
                " `cooper verify --explain --verifier NAME` shows the error"
            )
        raise CooperError(
            f"{count} steps in a row had a {model} gradient that is not finite; the last checkpoint"
            " was written before them: resume from it with --resume and a lower learning rate"
        )
