"""The alarm on the signature of hacking: false positives grow, and rule accuracy does not. (Ours, not the paper's.)"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Any

from cooper_rl.method.monitor import Monitor
from cooper_rl.records import Report

logger = logging.getLogger(__name__)
RATE = "hacking/false_positive_rate"


@dataclass
class HackingAlarm(Monitor):
    """Fires while the reward model's false positives grow, and grow faster than what the rule finds right.

    The last `window` steps are compared with the first `baseline` ones. Two conditions must hold. The false-positive
    rate has risen by more than `rise` plus one standard error of the difference (from the variation between steps). It
    has also risen more than rule accuracy has, by more than `lead`. A policy that learns raises both metrics; one that
    hacks raises the false-positive rate alone.

    Args:
        action: what happens when it fires for the first time: `log` warns, `stop` ends the run, `hybrid` changes the
            reward to hybrid.
    """

    action: str = "log"
    baseline: int = 10
    window: int = 5
    rise: float = 0.08
    lead: float = 0.10
    fired: bool = False
    false_positive_rates: list[float] = field(default_factory=list)
    rule_accuracies: list[float] = field(default_factory=list)

    name = "alarm"

    def after(self, report: Report, *, whole: bool) -> Report:
        fires = self.add(report.metrics)
        if fires and not self.fired:
            self.fired = True
            logger.warning(
                "hacking alarm: the reward model's false-positive rate is %.2f (%.2f to %.2f) and grows faster than"
                " rule accuracy; action: %s",
                *(report.metrics[f"{RATE}{part}"] for part in ("", "_low", "_high")),
                self.action,
            )
        self._act()
        return report.having({"hacking/alarm": float(fires)}, stop=report.stop or self.stops)

    def add(self, metrics: Mapping[str, float]) -> bool:
        """Takes in a step's metrics and tells whether the alarm fires. A step without a wrong rollout is left out."""
        if RATE not in metrics:
            return False
        self.false_positive_rates.append(metrics[RATE])
        self.rule_accuracies.append(metrics["accuracy/rule"])
        if len(self.rule_accuracies) < self.baseline + self.window:
            return False
        first, last = self.false_positive_rates[: self.baseline], self.false_positive_rates[-self.window :]
        rise = fmean(last) - fmean(first)
        error = math.sqrt(variance(first) / len(first) + variance(last) / len(last))
        rise_of_rule = fmean(self.rule_accuracies[-self.window :]) - fmean(self.rule_accuracies[: self.baseline])
        return rise - error > self.rise and rise - rise_of_rule > self.lead

    @property
    def stops(self) -> bool:
        """Whether the alarm has fired and its action is to end the run."""
        return self.fired and self.action == "stop"

    def _act(self) -> None:
        self.reward = "hybrid" if self.fired and self.action == "hybrid" else None

    def state(self) -> dict[str, Any]:
        return {
            "fired": self.fired,
            "false_positive_rates": self.false_positive_rates,
            "rule_accuracies": self.rule_accuracies,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.fired = bool(state["fired"])
        self.false_positive_rates = list(state["false_positive_rates"])
        self.rule_accuracies = list(state["rule_accuracies"])
        self._act()
