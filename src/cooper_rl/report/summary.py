"""The figures of runs: each run's reward and accuracies at its start and its end, its alarm and what was rolled back.

`summary.json` holds them. Two arms are compared by the difference of their final accuracy, with a 95 % interval over
seeds, or of one seed over problems. A run's `evidence` says which of its changes are beyond error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from cooper_rl.intervals import Change, mean_interval, paired_change, rises, unpaired_change, wilson
from cooper_rl.report.runs import Run
from cooper_rl.settings.reward_model import MeasuringSettings

RISE, FALL = 0.1, 0.1  # of reward, and of true accuracy from its peak: together and beyond error, exploitation
ACCEPTANCE = "hacking/counterfactual_acceptance"
EMPTY = "completions/empty_rate"
Entry = Mapping[str, Any]
Arms = Mapping[str, Sequence[Entry]]

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
        "empty": ends(values(EMPTY)),
        "rolled_back": int(sum(values("reward_model/rolled_back"))),
        "evidence": evidence(run),
    }


def evidence(run: Run) -> dict[str, Any]:
    """What changed in a run, with its tests.

    Returns:
        change, fall: the fields of a `Change` of true accuracy to the last measurement, from the one before training
            and from the highest one before; null where there is none, or the number of problems is not known.
        looks: how many falls might be shown: one from each measurement to the last, or, of a run that goes on and is
            looked at again and again, from each that it will make to each later one.
        reward: 1 where mean reward rose beyond error, -1 where it fell, else 0.
        rose: those of reward and acceptance under wrong references that rose by `RISE` or more, beyond error. Reward is
            left out where it has fallen since true accuracy was highest: then it did not rise while that fell.
        silent: whether the share of empty completions rose by `RISE` or more, beyond error.
    """
    measured = run.series("eval/true_accuracy")
    *earlier, last = measured or [(0, 0.0)]
    peak, reward = max(earlier, key=lambda point: point[1], default=last), run.values("reward")
    rose = []
    for name, key in (("reward", "reward"), ("acceptance", ACCEPTANCE)):
        since = [value for step, value in run.series(key) if step >= peak[0]]
        if rises_far(run.values(key)) and not rises([-value for value in since]):
            rose.append(name)
    start = earlier[0] if earlier and earlier[0][0] == 0 else None
    return {
        "change": change_of(run, start, last) if start else None,
        "fall": change_of(run, peak, last) if earlier else None,
        "looks": len(earlier) if run.finished else looks_of(run),
        "reward": rises(reward) - rises([-value for value in reward]),
        "rose": rose,
        "silent": rises_far(run.values(EMPTY)),
    }


def rises_far(values: Sequence[float]) -> bool:
    """Whether a metric rose by `RISE` or more over a run's steps, beyond error."""
    found = ends(values)
    if found["start"] is None or found["end"] is None:
        return False
    return found["end"] - found["start"] >= RISE and rises(values)


def looks_of(run: Run) -> int:
    """How many pairs of measurements a whole run has, by its settings; at least those that it has now."""
    every = int(run.config.get("heldout_steps", MeasuringSettings.heldout_steps))
    planned = 1 + int(run.config.get("max_steps", -1)) // every if every else 2
    count = max(planned, len(run.series("eval/true_accuracy")))
    return count * (count - 1) // 2


def change_of(run: Run, before: tuple[int, float], after: tuple[int, float]) -> dict[str, Any] | None:
    """The fields of the change of true accuracy between two measurements, paired where it is known what was solved."""
    solved = run.list_solved()
    first, last = solved.get(before[0]), solved.get(after[0])
    if first and last and first[0] == last[0]:
        return paired_change(first[1], last[1])._asdict()
    return unpaired_change(before[1], after[1], run.problems)._asdict() if run.problems else None


def may_be_exploited(entry: Entry) -> bool:
    """Whether reward rose beyond error, and true accuracy ended far below its peak, beyond error or not."""
    fall = change_in(entry, "fall")
    return bool(entry["evidence"]["rose"]) and fall is not None and -fall.mean >= FALL


def has_fallen(entry: Entry) -> bool:
    """Whether true accuracy fell from its peak beyond error, the choice of the peak counted in."""
    fall = change_in(entry, "fall")
    return fall is not None and fall.sign(entry["evidence"]["looks"]) < 0


def change_in(entry: Entry, name: str) -> Change | None:
    """The `change` or the `fall` of a run's evidence."""
    found = entry["evidence"][name]
    return Change(**found) if found else None


def summarize(runs: Sequence[Run]) -> dict[str, Any]:
    """The whole comparison. The base policy's accuracy is the mean of the measurements before training."""
    before = [value for run in runs for step, value in run.series("eval/true_accuracy") if step == 0]
    arms: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        entry, measured = summarize_run(run), run.series("eval/true_accuracy")
        entry["evidence"]["looks"] *= len(runs)  # any of the runs might have been called exploited
        solved = run.list_solved().get(measured[-1][0]) if measured else None
        arms.setdefault(run.arm, []).append({**entry, "solved": [*solved] if solved else None})
    base = {"true_accuracy": fmean(before) if before else None}
    return {"base": base, "heldout_problems": heldout_problems(runs), "arms": arms}


def base_policy(summary: Mapping[str, Any]) -> str:
    """The line about the policy before training: its true accuracy, with Wilson's interval over the problems."""
    base, problems = summary["base"]["true_accuracy"], summary["heldout_problems"]
    if base is None:
        return "base policy: not measured"
    if problems is None:
        return f"base policy: true accuracy {base:.3f}"
    low, high = wilson(base * problems, problems)
    return f"base policy: true accuracy {base:.3f} (95 % interval {low:.3f} to {high:.3f}, {problems} problems)"


def heldout_problems(runs: Sequence[Run]) -> int | None:
    """The number of held-out problems, where all runs with a measured accuracy have the same."""
    sizes = {run.problems for run in runs if run.values("eval/true_accuracy")}
    return sizes.pop() if len(sizes) == 1 else None


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


def mean(entries: Sequence[Entry], metric: str, when: str = "end") -> float:
    """The mean of a metric that the entries have."""
    found = mean_of(entries, metric, when)
    assert found is not None
    return found


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


def ends_of(arms: Arms, metric: str) -> dict[str, float]:
    """Where each arm that has the metric ended."""
    return {arm: end for arm, entries in arms.items() if (end := mean_of(entries, metric, "end")) is not None}


def select(arms: Arms, holds: Callable[[Entry], bool]) -> dict[str, list[Entry]]:
    """The runs of each arm for which `holds` is true. Arms without such a run are left out."""
    return {arm: found for arm, entries in arms.items() if (found := [*filter(holds, entries)])}


def within(entries: Sequence[Entry], key: str, problems: int | None) -> str:
    """`±0.04`: half of the 95 % interval of an arm's final true accuracy: Wilson's over the held-out problems.

    Of several seeds it is Student's over their ends, where that is wider: the problems alone say nothing of seeds.
    Empty for another metric, or where the number of problems is not known.
    """
    ends = [float(entry[key]["end"]) for entry in entries if entry[key]["end"] is not None]
    if not ends or not problems or key != "true_accuracy":
        return ""
    middle = fmean(ends)
    low, high = wilson(middle * problems, problems)
    seeds = mean_interval(ends)[1] - middle if len(ends) > 1 else 0.0
    return f"±{max(high - middle, middle - low, seeds):.2f}"


class Difference(NamedTuple):
    """A difference of means with its interval, as fractions from -1 to 1.

    Args:
        ours: our mean over the seeds that both have.
        theirs: the other's.
        counted: what the interval comes from, in words; empty where there is none, and then low and high are infinite.
        needed: about how many problems would show a difference of this size; 0 where that is not known.
    """

    ours: float
    theirs: float
    low: float
    high: float
    counted: str
    needed: int = 0

    @property
    def mean(self) -> float:
        """Ours less theirs."""
        return self.ours - self.theirs

    @property
    def sign(self) -> int:
        """1 or -1 where the interval leaves out 0, else 0."""
        return (self.low > 0) - (self.high < 0)


def difference(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], problems: int | None, looks: int = 1
) -> Difference | None:
    """Our final true accuracy less theirs; None where no seed has both.

    With several seeds in common it is the mean of the differences by seed, with Student's interval. With one it has the
    interval of a `Change` over the held-out problems, paired where it is known which of them each run has solved.

    Args:
        ours: an arm's entries in the summary.
        theirs: another's.
        problems: the number of held-out problems; None where it is not known.
        looks: how many arms the other was chosen from.
    """
    by_seed = {entry["seed"]: entry for entry in theirs}
    both = [(entry, by_seed[entry["seed"]]) for entry in ours if entry["seed"] in by_seed]
    pairs = [pair for pair in both if None not in (each["true_accuracy"]["end"] for each in pair)]
    if not pairs:
        return None
    ends_of_pairs = [(our["true_accuracy"]["end"], their["true_accuracy"]["end"]) for our, their in pairs]
    our_mean, their_mean = (fmean(ends) for ends in zip(*ends_of_pairs, strict=True))
    if len(pairs) > 1:
        bounds = mean_interval([our - their for our, their in ends_of_pairs], looks)
        return Difference(our_mean, their_mean, *bounds, f"{len(pairs)} seeds")
    our, their = (entry.get("solved") or ["", ""] for entry in pairs[0])
    paired = bool(our[0]) and our[0] == their[0]
    if not paired and problems is None:
        return Difference(our_mean, their_mean, -math.inf, math.inf, "")
    found = paired_change(their[1], our[1]) if paired else unpaired_change(their_mean, our_mean, int(problems or 0))
    needed = found.problems_for(abs(found.mean), looks) if found.mean else 0
    told = f"one seed, {'the same ' * paired}{found.problems} problems"
    return Difference(our_mean, their_mean, *found.interval(looks), told, needed)
