"""summary.json: each run's reward and accuracies at its start and its end."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from cooper_rl.report.runs import Run


def ends(values: Sequence[float]) -> dict[str, float | None]:
    """The means over the first and the last tenth of a run's steps."""
    if not values:
        return {"start": None, "end": None}
    tenth = max(1, len(values) // 10)
    return {"start": fmean(values[:tenth]), "end": fmean(values[-tenth:])}


def summarize_run(run: Run) -> dict[str, Any]:
    """One run's entry. Start and end are the first and last tenth of the steps, or the first and last measurement."""

    def values(key: str) -> list[float]:
        return [value for _, value in run.series(key)]

    true, reward_model = values("eval/true_accuracy"), values("eval/reward_model_accuracy")
    return {
        "seed": run.seed,
        "true_accuracy": {"peak": max(true, default=None), "end": true[-1] if true else None},
        "rule_accuracy": {"end": ends(values("accuracy/rule"))["end"]},
        "reward": ends(values("reward")),
        "reward_model_accuracy": {
            "start": reward_model[0] if reward_model else None,
            "min": min(reward_model, default=None),
            "end": reward_model[-1] if reward_model else None,
        },
    }


def summarize(runs: Sequence[Run]) -> dict[str, Any]:
    """The whole comparison. The base policy's accuracy is the mean of the measurements before training."""
    before = [value for run in runs for step, value in run.series("eval/true_accuracy") if step == 0]
    arms: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(summarize_run(run))
    return {"base": {"true_accuracy": fmean(before) if before else None}, "arms": arms}


def mean_of(entries: Sequence[dict[str, Any]], *keys: str) -> float | None:
    """The mean of a nested metric over those of an arm's seeds that have it; None if none has."""
    found = []
    for entry in entries:
        value: Any = entry
        for key in keys:
            value = value[key]
        if value is not None:
            found.append(float(value))
    return fmean(found) if found else None


COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("reward start", ("reward", "start")),
    ("reward end", ("reward", "end")),
    ("rule accuracy end", ("rule_accuracy", "end")),
    ("true accuracy peak", ("true_accuracy", "peak")),
    ("true accuracy end", ("true_accuracy", "end")),
    ("RM accuracy start", ("reward_model_accuracy", "start")),
    ("RM accuracy min", ("reward_model_accuracy", "min")),
    ("RM accuracy end", ("reward_model_accuracy", "end")),
)


def table(summary: dict[str, Any]) -> list[list[str]]:
    """The header and one row per arm, with means over seeds."""
    rows = [["arm", "seeds", *(title for title, _ in COLUMNS)]]
    rows += [[arm, str(len(entries)), *figures(entries)] for arm, entries in summary["arms"].items()]
    return rows


def run_table(summary: dict[str, Any]) -> list[list[str]]:
    """The header and one row per run."""
    rows = [["arm", "seed", *(title for title, _ in COLUMNS)]]
    for arm, entries in summary["arms"].items():
        rows += [[arm, str(entry["seed"]), *figures([entry])] for entry in entries]
    return rows


def figures(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The columns' means over runs as text."""
    means = [mean_of(entries, *keys) for _, keys in COLUMNS]
    return ["-" if mean is None else f"{mean:.3f}" for mean in means]


def sentence(summary: dict[str, Any]) -> str:
    """The comparison in one sentence: each arm's reward and true accuracy, from start to end."""
    base = summary["base"]["true_accuracy"]
    parts = []
    for arm, entries in summary["arms"].items():
        start, end = mean_of(entries, "reward", "start"), mean_of(entries, "reward", "end")
        true, peak = mean_of(entries, "true_accuracy", "end"), mean_of(entries, "true_accuracy", "peak")
        if start is None or end is None:
            continue
        part = f"{arm}: reward {start:.2f} → {end:.2f}"
        if true is not None and base is not None and peak is not None:
            part += f", true accuracy {base:.2f} → {true:.2f}" + (f" (peak {peak:.2f})" if peak - true > 0.02 else "")
        parts.append(part)
    return "; ".join(parts) + "." if parts else "No step has been logged yet."
