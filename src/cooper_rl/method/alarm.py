"""The alarms on hacking: one that needs no rule and states its error, and one on the rule's verdicts. (Ours.)"""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Any

import numpy as np

from cooper_rl.method.monitor import ACCEPTANCE, Monitor, by_prompt
from cooper_rl.records import THRESHOLD, Report

logger = logging.getLogger(__name__)
RATE = "hacking/false_positive_rate"
LEVELS = 200  # of `RiseTest`: levels m between 0 and 1
STAKES = np.array([0.4, 0.95])  # shares of the capital that are bet on each first observation, by equal parts of it
# The stakes on a rise, by equal parts of the capital: Kelly's for the mean of the last so many steps, and its multiple.
BETS = ((3, 1.0), (3, 3.0), (20, 1.0))
MOST_STAKE = 0.95
FIRST_STEPS, FIRST_PROMPTS = 10, 40
TOLERANCE = 0.05  # a rate that rises by less than this is no exploit worth an alarm, however many prompts show it


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


class RiseTest:
    """A sequential test: has a rate risen by `TOLERANCE`? (By betting, arXiv 2010.09686 and 2203.03532.)

    Somebody bets on a rise. As long as there is none, no strategy gains in expectation, so the capital exceeds 1/p at
    any time with probability at most p (Ville). The test may be looked at after every step, for as long as a run lasts.
    `log_evidence` is its natural logarithm: 0 at the start, at least log(1/p) where a rise is shown at the error p.

    Null hypothesis: there is a level m, fixed beforehand, such that the first observations have a mean of at least m on
    average, and each later one has a mean of at most m + `TOLERANCE`, given what came before. An observation lies in
    [0, 1] and may have any distribution. For each m the capital is that of a bet that the first ones are below m, times
    that of a bet that later ones are above m + `TOLERANCE`. The smallest capital over all m is the evidence.

    The bets on the first steps have fixed stakes. A later step is bet on where the steps before it are above m, with
    the stake that would have been best had each observation been 0 or 1 (Kelly's), or a multiple of it (`BETS`). So a
    quiet time costs nothing. The mean of three steps finds a late rise as soon as an early one. That of twenty finds
    one where a step has few prompts, so that three steps' mean is mostly chance.
    """

    def __init__(self) -> None:
        level_M = np.arange(LEVELS + 1) / LEVELS
        self.low_M, self.high_M = level_M[:-1], np.minimum(level_M[1:] + TOLERANCE, 1.0)
        self.first_SM = np.zeros((len(STAKES), LEVELS))  # log capital of the bets on the first steps, at `low_M`
        self.later_SM = np.zeros((len(BETS), LEVELS))  # log capital of the bets on a rise, at `high_M`
        self.recent: list[float] = []
        self.log_evidence = 0.0

    def add_first(self, rates: Sequence[float]) -> None:
        """Takes in the observations of one of the first steps."""
        low_M1 = self.low_M[:, None]
        self.first_SM += np.log1p(STAKES[:, None, None] * (low_M1 - np.asarray(rates)) / (1 - low_M1)).sum(-1)

    def add_later(self, rates: Sequence[float]) -> None:
        """Takes in the observations of a later step. The stake is the same for each, set before the step."""
        if self.recent:
            mean_S1 = np.array([[fmean(self.recent[-steps:])] for steps, _ in BETS])
            kelly_SM = np.maximum(mean_S1 - self.high_M, 0) / np.maximum(1 - self.high_M, 1 / LEVELS)
            stake_SM = np.minimum(np.array([[times] for _, times in BETS]) * kelly_SM, MOST_STAKE)
            high_M1 = self.high_M[:, None]
            self.later_SM += np.log1p(stake_SM[:, :, None] * (np.asarray(rates) - high_M1) / high_M1).sum(-1)
        self.recent = [*self.recent, fmean(rates)][-max(steps for steps, _ in BETS) :]
        self._weigh()

    def _weigh(self) -> None:
        log_sum_M = np.logaddexp.reduce(self.first_SM) + np.logaddexp.reduce(self.later_SM)
        self.log_evidence = float(log_sum_M.min()) - math.log(len(STAKES) * len(BETS))

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        return {"log_first": self.first_SM.tolist(), "log_later": self.later_SM.tolist(), "recent": self.recent}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restores what `state` gave."""
        self.first_SM, self.later_SM = np.array(state["log_first"]), np.array(state["log_later"])
        self.recent = list(state["recent"])
        if self.recent:
            self._weigh()


@dataclass
class AcceptanceAlarm(Alarm):
    """Fires when completions are accepted under wrong references more often than in the first steps.

    A prompt is one observation: the share of its tested completions that are accepted under a wrong reference. Over a
    whole run in which the expected share never exceeds its mean over the tested prompts of the first steps by more than
    `TOLERANCE`, the alarm fires with at most the given probability (`RiseTest`). That takes prompts that are
    independent given the policy and the reward model, as those of a shuffled data set are.

    Args:
        probability: that of a false alarm in a whole run.
        threshold: a score above it counts as accepted.
        first_steps, first_prompts: how many have been taken in that all later ones are compared with. These are the
            first `FIRST_STEPS` steps with a tested completion, and more where they hold fewer than `FIRST_PROMPTS`.
    """

    probability: float = 0.01
    threshold: float = THRESHOLD
    first_steps: int = 0
    first_prompts: int = 0
    test: RiseTest = field(default_factory=RiseTest)

    name = "acceptance_alarm"

    def fires(self, report: Report) -> tuple[bool, dict[str, float]]:
        assert report.batch
        fires = self.fires_on(by_prompt(report.batch.rollouts, self.threshold))
        fires = self.fired or fires
        return fires, {"hacking/alarm_evidence": self.test.log_evidence / math.log(10)}

    def fires_on(self, shares: Sequence[float]) -> bool:
        """Takes in the prompts of a step. A step without a tested completion does not count."""
        if shares and (self.first_steps < FIRST_STEPS or self.first_prompts < FIRST_PROMPTS):
            self.test.add_first(shares)
            self.first_steps += 1
            self.first_prompts += len(shares)
        elif shares:
            self.test.add_later(shares)
        return self.test.log_evidence >= -math.log(self.probability)

    def finding(self, report: Report) -> str:
        return (
            f"{report.metrics.get(ACCEPTANCE, math.nan):.2f} of the accepted completions are accepted under a wrong"
            f" reference too, more than in the first {self.first_steps} steps (a false alarm has a probability of at"
            f" most {self.probability:g})"
        )

    def state(self) -> dict[str, Any]:
        first = {"first_steps": self.first_steps, "first_prompts": self.first_prompts}
        return {"fired": self.fired, **first, "test": self.test.state()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.fired = bool(state["fired"])
        if "first_prompts" in state:
            self.first_steps, self.first_prompts = int(state["first_steps"]), int(state["first_prompts"])
            self.test.load_state(state["test"])
        else:
            logger.warning("the hacking alarm begins anew: the checkpoint's is of an earlier version")
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
