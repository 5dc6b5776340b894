"""The method's metrics on their way into the run folder and the trainer's trackers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any


class StepMetrics:
    """Metrics of the steps since the last line.

    TRL takes metrics from a reward function alone, and stage 2 comes after it. So trackers show a step's metrics in the
    line of the next step. The run folder and `trainer.state.log_history` have each in the line of its own step. A
    subclass of the trainer can do better: it sets `line`.
    """

    line: dict[str, list[float]] | None = None  # the trainer's own metrics of its next line

    def __init__(self) -> None:
        self.unlogged: dict[str, list[float]] = defaultdict(list)
        self.unsent: dict[str, float] = {}  # of the last step; trackers have not got them yet
        self.late: set[str] = set()  # what the trainer's next line has of an earlier step

    def keep(self, metrics: Mapping[str, float]) -> None:
        """Keeps a step's metrics for the next line."""
        for name, value in metrics.items():
            self.unlogged[name].append(value)
            if self.line is not None:
                self.line[name].append(value)
        if self.line is None:
            self.unsent.update(metrics)

    def send(self, log_metric: Callable[[str, float], None] | None) -> None:
        """Gives the last step's metrics to the trackers."""
        if log_metric is None:
            return
        for name, value in self.unsent.items():
            log_metric(name, value)
        self.late |= self.unsent.keys()
        self.unsent = {}

    @property
    def exact(self) -> bool:
        """Whether the trainer's lines have each step's metrics."""
        return self.line is not None

    def complete(self, logs: dict[str, Any]) -> bool:
        """Puts the metrics of a line's own steps into it: their means, as TRL has them of its own metrics.

        Returns:
            Whether there were such steps.
        """
        own = {name: sum(values) / len(values) for name, values in self.unlogged.items()}
        for name in self.late - own.keys():
            logs.pop(name, None)
        logs.update(own)
        self.unlogged, self.late = defaultdict(list), set()
        return bool(own)
