"""What the charts of the report and of the live page draw, as data. The page's scripts draw it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import fmean
from typing import Any, NamedTuple

from cooper_rl.report.runs import Run

ARM_ORDER = ("rule", "static", "cooper", "hybrid")
COLOURS = {"rule": "#6b7f99", "static": "#d9572b", "cooper": "#1f8a70", "hybrid": "#8a5fbf"}
PALETTE = ("#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a")
NEAR_STEPS = 3  # the reward at a held-out measurement is averaged over this many steps
SHARE = "share from 0 to 1"
SECONDS = "seconds a step"
MACHINE = "Time and memory"


class Curve(NamedTuple):
    """A figure of one metric over the steps."""

    key: str
    group: str
    title: str
    unit: str
    note: str = ""


CURVES = (
    Curve("reward", "Reward and truth", "Mean reward", "reward from 0 to 1", "over the step's rollouts"),
    Curve("accuracy/rule", "Reward and truth", "Rule accuracy", SHARE, "of rollouts, those that the rule accepts"),
    Curve("eval/true_accuracy", "Reward and truth", "True accuracy", SHARE, "of held-out problems, by their scorers"),
    Curve("eval/reward_model_accuracy", "Reward and truth", "Reward model accuracy", SHARE, "on held-out triples"),
    Curve("hacking/false_positive_rate", "Reward and truth", "False positives", SHARE, "of rollouts surely wrong"),
    Curve("reward_model/anchor_accuracy", "Reward and truth", "Guard: anchors", SHARE, "at checks of the whole set"),
    Curve("loss", "Policy", "Loss", "loss", "of the policy"),
    Curve("grad_norm", "Policy", "Gradient norm", "norm", "of the policy, before clipping"),
    Curve("learning_rate", "Policy", "Learning rate", "rate", "of the policy"),
    Curve("kl", "Policy", "KL to the base policy", "nats per token", "mean over the step's tokens"),
    Curve("entropy", "Policy", "Entropy", "nats per token", "mean over the step's tokens"),
    Curve("completions/mean_length", "Policy", "Completion length", "tokens", "mean over the step's rollouts"),
    Curve("reward_model/loss", "Reward model", "Reward model: loss", "loss", "over the step's pairs"),
    Curve("reward_model/grad_norm", "Reward model", "Reward model: gradient norm", "norm", "before clipping"),
    Curve("reward_model/learning_rate", "Reward model", "Reward model: learning rate", "rate"),
    Curve("step_time", MACHINE, "Time: whole step", SECONDS),
    Curve("time/generate_seconds", MACHINE, "Time: generating", SECONDS),
    Curve("time/score_seconds", MACHINE, "Time: scoring", SECONDS),
    Curve("time/policy_seconds", MACHINE, "Time: policy update", SECONDS),
    Curve("time/pairs_seconds", MACHINE, "Time: pairs", SECONDS),
    Curve("time/reward_model_seconds", MACHINE, "Time: reward model update", SECONDS),
    Curve("time/guard_seconds", MACHINE, "Time: guard", SECONDS),
    Curve("memory/peak_gigabytes", MACHINE, "Peak memory", "gigabytes", "of one process, so far"),
)
OTHER_GROUP = "Other metrics"
ENDS = ("_low", "_high")  # a metric with these endings beside another one is that one's interval


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """The arms' fixed colours. Other names get the other colours of the palette in order."""
    fixed = {name: COLOURS[name] for name in names if name in COLOURS}
    free = cycle([colour for colour in PALETTE if colour not in fixed.values()])
    return {name: fixed.get(name) or next(free) for name in names}


def charts(runs: Sequence[Run], cells: Sequence[Mapping[str, Any]] = ()) -> str:
    """All that the page's charts draw, as JSON.

    Args:
        cells: figures of their own lines: `title`, `unit`, `note`, and `lines` with `name`, `colour`, `step`, `value`.
    """
    arms = list(dict.fromkeys(run.arm for run in runs))
    known = {curve.key for curve in CURVES}
    found = {key: None for run in runs for row in run.metrics for key, value in row.items() if is_number(value)}
    bounds = {f"{key}{end}" for key in found for end in ENDS}
    others = [Curve(key, OTHER_GROUP, key, "") for key in sorted(found.keys() - known - bounds - {"step"})]
    told = {
        "arms": [{"name": arm, "colour": colour} for arm, colour in colours_of(arms).items()],
        "runs": [
            {"name": run.name, "arm": run.arm, "alarm": run.alarm_step, "series": all_series(run), "path": path_of(run)}
            for run in runs
        ],
        "curves": [
            {**curve._asdict(), "share": is_share(curve.key), "first": curve.key in known}
            for curve in (*CURVES, *others)
        ],
        "cells": list(cells),
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def is_number(value: object) -> bool:
    """Whether a metric's value can be drawn."""
    return isinstance(value, int | float) and math.isfinite(value)


def is_share(key: str) -> bool:
    """Whether a metric's axis goes from 0 to 1."""
    if key.endswith("learning_rate"):
        return False
    return key == "reward" or key.startswith(("accuracy/", "eval/")) or key.endswith(("_accuracy", "_rate", "/rule"))


def all_series(run: Run) -> dict[str, dict[str, Sequence[float]]]:
    """Each metric of a run: `step` and `value`, and `low` and `high` where its interval is known.

    An interval is in the metrics under the same name with `_low` and `_high`. The metrics that are drawn at first have
    one by `Run.with_intervals`, but for times, memory and learning rates, which no sample gives.
    """
    sampled = {curve.key for curve in CURVES if curve.group != MACHINE and not curve.key.endswith("learning_rate")}
    found = {key: run.series(key) for row in run.metrics for key, value in row.items() if is_number(value)}
    told: dict[str, dict[str, Sequence[float]]] = {}
    for key in [key for key in found if key != "step" and not (key.endswith(ENDS) and key.rpartition("_")[0] in found)]:
        told[key] = {"step": [step for step, _ in found[key]], "value": [short(value) for _, value in found[key]]}
        low, high = ([value for _, value in found.get(f"{key}{end}", [])] for end in ENDS)
        if key in sampled and not low:
            least, most = -math.inf if key == "loss" else 0.0, 1.0 if is_share(key) else math.inf
            bands = [(max(least, low), min(most, high)) for _, _, low, high in run.with_intervals(key)]
            low, high = map(list, zip(*bands, strict=True)) if any(low < high for low, high in bands) else ([], [])
        if len(low) == len(high) == len(found[key]):
            told[key] |= {"low": list(map(short, low)), "high": list(map(short, high))}
    return told


def short(value: float) -> float:
    """A value to six digits, which is more than a figure shows."""
    return float(f"{value:.6g}")


def path_of(run: Run) -> list[tuple[int, float, float]]:
    """(step, true accuracy, mean reward of the steps near it) at each held-out measurement."""
    reward = dict(run.series("reward"))
    first = min(reward, default=0)
    points = []
    for step, true in run.series("eval/true_accuracy"):
        near = [value for at, value in reward.items() if abs(at - max(step, first)) <= NEAR_STEPS]
        if near:
            points.append((step, short(true), short(fmean(near))))
    return points
