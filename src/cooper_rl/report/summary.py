"""summary.json: each run's reward and accuracies at its start and its end, its alarm and what was rolled back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    values = run.values
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
        "steps": run.metrics[-1]["step"] if run.metrics else 0,
        "max_steps": int(run.config.get("max_steps", -1)),
        "alarm": {"watched": bool(run.series("hacking/alarm")), "step": run.alarm_step},
        "rolled_back": int(sum(values("reward_model/rolled_back"))),
    }


def summarize(runs: Sequence[Run]) -> dict[str, Any]:
    """The whole comparison. The base policy's accuracy is the mean of the measurements before training."""
    before = [value for run in runs for step, value in run.series("eval/true_accuracy") if step == 0]
    arms: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(summarize_run(run))
    base = {"true_accuracy": fmean(before) if before else None}
    return {"base": base, "heldout_problems": heldout_problems(runs), "arms": arms}


def heldout_problems(runs: Sequence[Run]) -> int | None:
    """The number of held-out problems, if the settings name one and every measured accuracy is a share of so many."""
    sizes = {run.config.get("heldout_dataset_size") for run in runs}
    size = sizes.pop() if len(sizes) == 1 else None
    if not isinstance(size, int):
        return None
    hits = [value * size for run in runs for value in run.values("eval/true_accuracy")]
    return size if hits and all(abs(hit - round(hit)) < 1e-6 for hit in hits) else None


def mean_of(entries: Sequence[Mapping[str, Any]], *keys: str) -> float | None:
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


def figures(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns' means over runs as text."""
    means = [mean_of(entries, *keys) for _, keys in COLUMNS]
    return ["-" if mean is None else f"{mean:.3f}" for mean in means]
