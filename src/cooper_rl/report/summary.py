"""The figures of runs: each run's reward and accuracies at its start and its end, its alarm and what was rolled back.

`summary.json` holds them. Two arms are compared by the difference of their final accuracy, with a 95 % interval over
seeds, or of one seed over problems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from cooper_rl.report.runs import Run

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


# Student's t for a two-sided 95 % interval, by the number of runs.
STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
NORMAL_95 = 1.96


class Difference(NamedTuple):
    """A difference of means with its interval, as fractions from -1 to 1.

    Args:
        ours: our mean over the seeds that both have.
        theirs: the other's.
        counted: what the interval comes from, in words; empty where there is none, and then low and high are infinite.
    """

    ours: float
    theirs: float
    low: float
    high: float
    counted: str

    @property
    def mean(self) -> float:
        """Ours less theirs."""
        return self.ours - self.theirs

    @property
    def sign(self) -> int:
        """1 or -1 where the interval leaves out 0, else 0."""
        return (self.low > 0) - (self.high < 0)


def difference(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], problems: int | None
) -> Difference | None:
    """Our final true accuracy less theirs; None where no seed has both.

    With several seeds in common it is the mean of the differences by seed, with Student's interval. With one it has
    Agresti and Caffo's interval, which takes the held-out problems of both runs as independent draws.

    Args:
        ours: an arm's entries in the summary.
        theirs: another's.
        problems: the number of held-out problems; None where it is not known.
    """
    ends = {entry["seed"]: entry["true_accuracy"]["end"] for entry in theirs}
    both = [(entry["true_accuracy"]["end"], ends.get(entry["seed"])) for entry in ours]
    pairs = [(our, their) for our, their in both if our is not None and their is not None]
    if not pairs:
        return None
    our_mean, their_mean = (fmean(ends) for ends in zip(*pairs, strict=True))
    middle, count = our_mean - their_mean, len(pairs)
    if count > 1:
        half = STUDENT_95.get(count, STUDENT_95[10]) * stdev(our - their for our, their in pairs) / math.sqrt(count)
        return Difference(our_mean, their_mean, middle - half, middle + half, f"{count} seeds")
    if problems is None:
        return Difference(our_mean, their_mean, -math.inf, math.inf, "")
    our, their = ((share * problems + 1) / (problems + 2) for share in pairs[0])
    half = NORMAL_95 * math.sqrt((our * (1 - our) + their * (1 - their)) / (problems + 2))
    return Difference(our_mean, their_mean, our - their - half, our - their + half, f"one seed, {problems} problems")
