"""Monitors: what watches each step after the updates, and may roll back, ask for another reward or stop the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from cooper_rl.records import Report


class Monitor(ABC):
    """Watches a run. Its state is in every checkpoint, under its name.

    Monitors run in their order, each on the report that the one before it has added to. A user's own is named in the
    setting `monitors`, as `module:Class` or as an entry point of the group `cooper_rl.monitors`.
    """

    name = ""  # of its state in a checkpoint
    reward: str | None = None  # the reward that it wants from now on

    def begin(self) -> None:
        """Called before the first step of a new run."""

    @abstractmethod
    def after(self, report: Report, *, whole: bool) -> Report:
        """The report with what this monitor has to say of the step.

        Args:
            whole: a checkpoint follows, so that what is kept must have been checked in full.
        """

    def before_save(self, report: Report) -> Report:
        """Called instead of `after` where a checkpoint follows no fresh batch."""
        return report

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Takes on what `state` gave. Called instead of `begin`, when the reward model is loaded already."""
