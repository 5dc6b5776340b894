"""The alarms on hacking: one that needs no rule and states its error, and one on the rule's verdicts. (Ours.)"""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Any

from cooper_rl.method.audit import ACCEPTANCE, by_prompt
from cooper_rl.method.monitor import Monitor
from cooper_rl.method.rise import RiseTest
from cooper_rl.records import THRESHOLD, Report

logger = logging.getLogger(__name__)
RATE = "hacking/false_positive_rate"


@dataclass
class Alarm(Monitor):
    """Warns once, the first time that it fires, and acts.

    Args:
        action: what happens when it fires for the first time: `log` warns, `stop` ends the run, `hybrid` changes the
            reward to hybrid.
    """

    action: str = "log"
    fired: bool = False

    name = "alarm"
    metric = "hacking/alarm"

    @abstractmethod
    def fires(self, report: Report) -> tuple[bool, dict[str, float]]:
        """Takes in a step. Whether the alarm fires in it, and metrics of its own."""

    @abstractmethod
    def finding(self, report: Report) -> str:
        """What the alarm has found, for the warning."""

    def after(self, report: Report, *, whole: bool) -> Report:
        fires, own = self.fires(report)
        if fires and not self.fired:
            self.fired = True
            logger.warning("hacking alarm: %s; action: %s", self.finding(report), self.action)
        self._act()
        return report.having({self.metric: float(fires), **own}, stop=report.stop or self.stops)

    @property
    def stops(self) -> bool:
        """Whether the alarm has fired and its action is to end the run."""
        return self.fired and self.action == "stop"

    def _act(self) -> None:
        self.reward = "hybrid" if self.fired and self.action == "hybrid" else None


@dataclass
class AcceptanceAlarm(Alarm):
    """Fires when completions are accepted under wrong references more often than in the first steps.

    Over a whole run in which that does not happen, it fires with at most the given probability (`rise.RiseTest`). A
    step is one observation: the mean over its prompts of the share of tested completions that are accepted under a
    wrong reference.

    Args:
        probability: that of a false alarm in a whole run.
        baseline: the first so many steps with a tested completion are compared with all later ones.
        threshold: a score above it counts as accepted.
    """

    probability: float = 0.01
    baseline: int = 10
    threshold: float = THRESHOLD
    steps: int = 0
    test: RiseTest = field(default_factory=RiseTest)

    name = "acceptance_alarm"

    def fires(self, report: Report) -> tuple[bool, dict[str, float]]:
        assert report.batch
        fires = self.fires_on(by_prompt(report.batch.rollouts, self.threshold))
        fires = self.fired or fires
        return fires, {"hacking/alarm_evidence": math.log10(max(self.test.evidence, 1e-99))}

    def fires_on(self, shares: Sequence[float]) -> bool:
        """Takes in the prompts of a step. A step without a tested completion does not count."""
        self.steps += bool(shares)
        if shares:
            (self.test.add_first if self.steps <= self.baseline else self.test.add_later)(fmean(shares))
        return self.test.evidence >= 1 / self.probability

    def finding(self, report: Report) -> str:
        return (
            f"{report.metrics.get(ACCEPTANCE, math.nan):.2f} of the accepted completions are accepted under a wrong"
            f" reference too, more than in the first {self.baseline} steps (by chance with a probability of at most"
            f" {self.probability:g})"
        )

    def state(self) -> dict[str, Any]:
        return {"fired": self.fired, "steps": self.steps, "test": self.test.state()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.fired, self.steps = bool(state["fired"]), int(state["steps"])
        self.test.load_state(state["test"])
        self._act()


@dataclass
class HackingAlarm(Alarm):
    """Fires while the reward model's false positives grow, and grow faster than what the rule finds right.

    The last `window` steps are compared with the first `baseline` ones. Two conditions must hold. The false-positive
    rate has risen by more than `rise` plus one standard error of the difference (from the variation between steps). It
    has also risen more than rule accuracy has, by more than `lead`. A policy that learns raises both metrics; one that
    hacks raises the false-positive rate alone.

    Args:
        alone: False where an `AcceptanceAlarm` decides. This one then has a metric of its own.
    """

    alone: bool = True
    baseline: int = 10
    window: int = 5
    rise: float = 0.08
    lead: float = 0.10
    false_positive_rates: list[float] = field(default_factory=list)
    rule_accuracies: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.alone:
            self.metric = "hacking/rule_alarm"

    def fires(self, report: Report) -> tuple[bool, dict[str, float]]:
        return self.add(report.metrics), {}

    def finding(self, report: Report) -> str:
        rate, low, high = (report.metrics[f"{RATE}{part}"] for part in ("", "_low", "_high"))
        return (
            f"the reward model's false-positive rate is {rate:.2f} ({low:.2f} to {high:.2f}) and grows faster than rule"
            " accuracy"
        )

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
