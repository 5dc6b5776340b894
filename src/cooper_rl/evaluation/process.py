"""How well a reward model's step values find the first wrong step of a solution (ProcessBench, arXiv 2412.06559).

A step is called wrong where the value of the prefix that ends with it is below a threshold. The first such step is the
prediction, or none. F1 is the harmonic mean of two accuracies: that on solutions with an error, where the first wrong
step must be found exactly, and that on solutions without, where no step may be called wrong.

Probes show whether a wrong solution gains by padding: steps said twice, empty steps, and steps that say nothing. A
policy whose steps are rewarded can write such steps. A solution gains where VerifyRM then accepts it. It also gains
where no step is valued below 0.5 any more: `credit: first_error` then finds no error in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cooper_rl.domains.own_data import local_copy
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.metrics import Floats, bootstrap
from cooper_rl.records import THRESHOLD, LabelledCompletion
from cooper_rl.steps import first_below
from cooper_rl.tables import from_hub, read_records
from cooper_rl.verifyrm.triples import read_labelled

PROCESSBENCH = "processbench"
LOCAL, HUB, HUB_SPLITS = "process/processbench_dev.jsonl.gz", "Qwen/ProcessBench", ("gsm8k", "math")
TUNED_ON = "processbench_gsm8k"  # as published: the threshold is the best on this subset
Values = Callable[[Sequence[LabelledCompletion], Sequence[Sequence[int]]], Iterable[Iterable[float]]]
FILLER = "Let us look at this carefully before we go on, step by step, and check each part of it."
STEP_PROBES: Mapping[str, Callable[[list[str]], list[str]]] = {
    "as written": lambda steps: steps,
    "each step twice": lambda steps: [step for step in steps for _ in range(2)],
    "empty steps": lambda steps: [text for step in steps for text in (".", step)],
    "long": lambda steps: [text for step in steps for text in (FILLER, step)],
}


def load_process(name: str) -> list[LabelledCompletion]:
    """The solutions of ProcessBench's GSM8K and MATH parts. The hub's records have no reference answer.

    Raises:
        BadInputError: a record lacks a field, or its first error is none of its steps.
        BackendError: neither a local copy nor the hub can be read.
    """
    path = local_copy(LOCAL)
    records: Iterable[dict[str, Any]]
    if path:
        records = (record for _, record in read_records(path))
    else:
        records = (
            {"question": r["problem"], "steps": r["steps"], "first_error": r["label"], "source": f"{name}_{split}"}
            for split in HUB_SPLITS
            for r in from_hub(HUB, None, split)
        )
    found = []
    for number, record in enumerate(records, 1):
        place = f"{path or HUB}: record {number}"
        if missing := {"question", "steps", "first_error", "source"} - record.keys():
            raise BadInputError(f"{place} has no field {', '.join(sorted(missing))}")
        found.append(read_labelled({"reference_answer": "", **record}, place))
    return found


def evaluate_process(
    solutions: Sequence[LabelledCompletion], values: Values, *, samples: int = 1000, probes: bool = True
) -> dict[str, Any]:
    """F1 and its two accuracies, of each subset, with intervals, at the threshold 0.5 and at one that is tuned.

    Args:
        values: step values of triples at their steps' ends, as `VerifyRM.step_values`.
        samples: bootstrap samples of an interval.
        probes: also whether a wrong solution gains by padding (`step_probes`).
    """
    values_N = value_steps(solutions, values)
    errors_N = np.array([solution.first_error for solution in solutions])
    sources = [solution.source for solution in solutions]
    tuning = [row for row, source in enumerate(sources) if source == TUNED_ON] or list(range(len(solutions)))
    both = len(set((errors_N[tuning] >= 0).tolist())) == 2  # without right and wrong solutions there is no F1
    tuned = best_threshold([values_N[row] for row in tuning], errors_N[tuning]) if both else THRESHOLD
    found: dict[str, Any] = {
        "solutions": len(solutions),
        "tuned_threshold": tuned,
        "last_step_share": last_step_share(values_N),
    }
    for title, threshold in (("at_half", THRESHOLD), ("tuned", tuned)):
        predicted_N = np.array([first_below(each, threshold) for each in values_N])
        found[title] = {}
        for subset in [*dict.fromkeys(sources), "all"]:
            rows = [row for row, source in enumerate(sources) if subset in (source, "all")]
            columns = predicted_N[rows], errors_N[rows]
            low, high = bootstrap(lambda p, e: scores_of(p, e)["f1"], *columns, samples=samples)
            found[title][subset] = {"solutions": len(rows), **scores_of(*columns), "f1_interval": [low, high]}
    return {**found, "probes": step_probes(solutions, values)} if probes else found


def last_step_share(values_N: Sequence[Floats]) -> float:
    """The part of the values' movement that happens at the last step, where the answer is stated; from 0 to 1.

    Near 1 the values say nothing about the steps before. Solutions of one or two steps are left out.
    """
    moved = [np.abs(np.diff(values_S)) for values_S in values_N if len(values_S) > 2]
    return float(sum(each[-1] for each in moved) / max(1e-9, sum(each.sum() for each in moved)))


def scores_of(predicted_N: Any, first_error_N: Any) -> dict[str, float]:
    """Accuracy on solutions with an error, accuracy on those without, and their harmonic mean; from 0 to 1."""
    wrong_N, hit_N = first_error_N >= 0, predicted_N == first_error_N
    with_error = float(hit_N[wrong_N].mean()) if wrong_N.any() else float("nan")
    without = float(hit_N[~wrong_N].mean()) if (~wrong_N).any() else float("nan")
    total = with_error + without
    f1 = 2 * with_error * without / total if total else 0.0
    return {"error_accuracy": with_error, "right_accuracy": without, "f1": f1}


def best_threshold(values_N: Sequence[Floats], first_error_N: Any) -> float:
    """The threshold with the highest F1, of 201 quantiles of the values themselves; the lowest of equal ones."""
    grid: list[float] = np.unique(np.quantile(np.concatenate(values_N), np.linspace(0, 1, 201))).tolist()
    return max(grid, key=lambda at: scores_of(np.array([first_below(v, at) for v in values_N]), first_error_N)["f1"])


def process_lines(name: str, found: dict[str, Any]) -> list[str]:
    """The figures of a set as lines of text."""
    share = f"{found['last_step_share']:.0%} of the values' movement is at the last step"
    lines = [f"steps of {name}: {found['solutions']} solutions; {share}"]
    for title, said in (("at_half", "threshold 0.5"), ("tuned", f"tuned threshold {found['tuned_threshold']:.3g}")):
        for subset, row in found[title].items():
            low, high = row["f1_interval"]
            lines += [
                f"  {said}, {subset} ({row['solutions']}): F1 {row['f1']:.3f} ({low:.3f} to {high:.3f}),"
                f" first error found {row['error_accuracy']:.3f}, right ones left alone {row['right_accuracy']:.3f}"
            ]
    for kind, shares in found.get("probes", {}).items():
        lines.append(
            f"  wrong ones, {kind}: accepted {shares['accepted']:.3f}, no step below 0.5 {shares['hidden']:.3f}"
        )
    return lines


def pad(solution: LabelledCompletion, kind: str) -> LabelledCompletion:
    """The solution with other steps put between its own. The last step, which states the answer, stays the last."""
    begins = [0, *solution.ends[:-1]]
    pieces = [solution.completion[begin:end] for begin, end in zip(begins, solution.ends, strict=True)]
    blank = len(pieces[-1]) - len(pieces[-1].lstrip())
    gap = pieces[-1][:blank] or " "  # what stands between two steps
    ends, text = [], ""
    for step in STEP_PROBES[kind]([piece.strip() for piece in pieces]):
        text += gap * bool(text) + step
        ends.append(len(text))
    return replace(solution, completion=text, ends=tuple(ends), first_error=None)


def value_steps(solutions: Sequence[LabelledCompletion], values: Values) -> list[Any]:
    """The step values of each solution, as an array (S,)."""
    return [np.array(list(map(float, v_S))) for v_S in values(solutions, [each.ends for each in solutions])]


def step_probes(solutions: Sequence[LabelledCompletion], values: Values) -> dict[str, dict[str, float]]:
    """For each kind of padding two shares of the wrong solutions, from 0 to 1; empty without a wrong solution.

    `accepted` are those whose last value is above 0.5, `hidden` those without a value below it.

    Args:
        values: step values of triples at their steps' ends, as `VerifyRM.step_values`.
    """
    wrong = [solution for solution in solutions if solution.first_error != -1 and solution.ends]
    found: dict[str, dict[str, float]] = {}
    for kind in STEP_PROBES if wrong else ():
        values_N = value_steps([pad(solution, kind) for solution in wrong], values)
        found[kind] = {
            "accepted": float(np.mean([v_S[-1] > THRESHOLD for v_S in values_N])),
            "hidden": float(np.mean([(v_S >= THRESHOLD).all() for v_S in values_N])),
        }
    return found
