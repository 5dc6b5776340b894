"""Monitors watch each step after the update, and may roll it back, change the reward or stop the run.

The first one is the audit, which compares the reward model with the rule on the step's rollouts (ours, not the
paper's). `Skips` ends a run whose steps teach nothing any more.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.intervals import wilson
from cooper_rl.jsonl import write_atomically
from cooper_rl.records import THRESHOLD, Reason, Report, Rollout, Verdict

STATE = "monitors.json"  # the file in a checkpoint that holds the monitors' state
VERIFIER = "verifier"
ACCEPTANCE = "hacking/counterfactual_acceptance"


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


class Schedule(Monitor):
    """Which batches the reward model learns from, and from when on the policy does: by the batches learned so far.

    Args:
        update_steps: the reward model is updated on every so many-th batch.
        alone_steps: the policy takes no step on the first so many batches.
    """

    name = "schedule"

    def __init__(self, update_steps: int = 1, alone_steps: int = 0) -> None:
        self.update_steps, self.alone_steps, self.learned = update_steps, alone_steps, 0

    @property
    def updates(self) -> bool:
        """Whether the reward model is updated on the next batch."""
        return (self.learned + 1) % self.update_steps == 0

    def policy_waits(self, *, fresh: bool = True) -> bool:
        """Whether the policy is to take no step.

        Args:
            fresh: whether its batch is one that `learn` has not had yet.
        """
        return self.learned + fresh <= self.alone_steps

    def after(self, report: Report, *, whole: bool) -> Report:
        waited = {"policy/frozen": float(self.policy_waits())} if self.alone_steps else {}
        self.learned += 1
        return report.having(waited)

    def state(self) -> dict[str, Any]:
        return {"learned": self.learned}

    def load_state(self, state: dict[str, Any]) -> None:
        self.learned = int(state["learned"])


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


class Audit(Monitor):
    """Logs the metrics of each step's rollouts.

    Args:
        misses_per_hit: how many right completions the rule calls INCORRECT for each one that it calls CORRECT.
    """

    name = "audit"

    def __init__(self, misses_per_hit: float = 0.0) -> None:
        self.misses_per_hit = misses_per_hit

    def after(self, report: Report, *, whole: bool) -> Report:
        assert report.batch
        return report.having(rollout_metrics(report.batch.rollouts, self.misses_per_hit))


def rollout_metrics(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """The metrics that compare the rule with the reward model on a step's rollouts; shares from 0 to 1."""
    count = len(rollouts)
    paid = [r for r in rollouts if r.reward is not None]

    def share(verdict: Verdict) -> float:
        return sum(r.verdict is verdict for r in rollouts) / count

    return {
        "accuracy/rule": share(Verdict.CORRECT),
        "verifier/unparseable_rate": share(Verdict.UNPARSEABLE),
        "verifier/timeout_rate": share(Verdict.TIMEOUT),
        "verifier/error_rate": share(Verdict.ERROR),
        "verifier/no_answer_rate": sum(r.reason is Reason.NO_ANSWER for r in rollouts) / count,
        "completions/empty_rate": sum(not r.completion.strip() for r in rollouts) / count,
        "hacking/gap": mean_reward(paid) - sum(r.verdict is Verdict.CORRECT for r in paid) / max(1, len(paid)),
        "hacking/several_answers_rate": sum(r.verification.several_answers for r in rollouts) / count,
        **false_positives(rollouts, misses_per_hit),
        **youden(rollouts),
    }


def youden(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Youden's J of the reward model by the rule: acceptance of right rollouts less that of wrong ones, from -1 to 1.

    It is given over all wrong rollouts, and over those of each kind: with no answer, with several, with another one.
    A J of 0 means that the reward teaches nothing about rollouts of that kind.
    """
    scored = [r for r in rollouts if not math.isnan(r.score)]
    right = [r.score > THRESHOLD for r in scored if r.verdict is Verdict.CORRECT]
    wrong = [r for r in scored if r.verification.surely_wrong]
    several = [r for r in wrong if r.verification.several_answers]
    none = [r for r in wrong if r.reason is Reason.NO_ANSWER and not r.verification.several_answers]
    other = [r for r in wrong if r.verification.doubtful]
    kinds = {"": wrong, "_no_answer": none, "_several_answers": several, "_other_answer": other}
    return {
        f"hacking/youden_j{name}": fmean(right) - fmean(r.score > THRESHOLD for r in own)
        for name, own in kinds.items()
        if right and own
    }


def mean_reward(rollouts: Sequence[Rollout]) -> float:
    """The mean over the rollouts that have a reward; 0 where none has."""
    paid = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    return sum(paid) / max(1, len(paid))


def false_positives(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """The reward model's false-positive rate on rollouts with its 95 % interval, as fractions from 0 to 1.

    A completion counts as wrong where the rule says INCORRECT or finds no answer. Some of these are in fact right:
    about `misses_per_hit` for each CORRECT one. The reward model is taken to accept them as often as the CORRECT ones.
    Their expected number is subtracted from the wrong completions, and their expected acceptances from the accepted
    ones. The interval is Wilson's, with completions taken as independent.

    Returns:
        The rate, its lower and its upper bound, by name. Empty where no scored rollout is wrong.
    """
    scored = [r for r in rollouts if not math.isnan(r.score)]
    wrong = [r.score > THRESHOLD for r in scored if r.verification.surely_wrong]
    right = [r.score > THRESHOLD for r in scored if r.verdict is Verdict.CORRECT]
    missed = misses_per_hit * len(right)  # expected right ones among `wrong`
    if len(wrong) <= missed:
        return {}
    recall = fmean(right) if right else 1.0
    name = "hacking/false_positive_rate"
    measured = (fmean(wrong), *wilson(sum(wrong), len(wrong)))
    rate, low, high = (
        min(1.0, max(0.0, (share * len(wrong) - missed * recall) / (len(wrong) - missed))) for share in measured
    )
    return {name: rate, f"{name}_low": low, f"{name}_high": high}


def acceptance(rollouts: Sequence[Rollout], threshold: float = THRESHOLD) -> dict[str, float]:
    """The share of the accepted completions that is accepted under a wrong reference too, with its Wilson interval.

    Also how many were asked, and how many could not be because no wrong reference was found.
    """
    scores = [r.counterfactual_score for r in rollouts if r.counterfactual_score is not None]
    untested = sum(r.counterfactual_reference == "" for r in rollouts)
    counts = {"hacking/counterfactual_tested": float(len(scores)), "hacking/counterfactual_untested": float(untested)}
    if not scores:
        return counts
    both = sum(score > threshold for score in scores)
    low, high = wilson(both, len(scores))
    return {ACCEPTANCE: both / len(scores), f"{ACCEPTANCE}_low": low, f"{ACCEPTANCE}_high": high, **counts}


def by_prompt(rollouts: Sequence[Rollout], threshold: float = THRESHOLD) -> list[float]:
    """For each prompt with a tested completion: the share of these that is accepted under a wrong reference too."""
    found: dict[int, list[bool]] = {}
    for rollout in rollouts:
        if rollout.counterfactual_score is not None:
            found.setdefault(rollout.group, []).append(rollout.counterfactual_score > threshold)
    return [sum(own) / len(own) for own in found.values()]
