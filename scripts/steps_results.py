"""What the credit of steps did (recipes/experiments/steps.yaml).

python scripts/steps_results.py runs/experiments/steps --out docs/data/steps.json

Writes a record a run, and prints a row a variant, means over its seeds:

- true accuracy: at the end of the run, on its held-out problems; `over the run`: the mean of its measurements; `steps
  to 0.4`: the first measurement that reaches it.
- F1 (slips): how well the final reward model's values find the first error of held-out solutions, at the threshold 0.5;
  `start` is that of the starting reward model.
- F1 (rollouts): the same for the run's completions of two steps and more, in its last ten steps, by the values that
  they were credited with. Only where the credit is by these values.
- tokens, repeated, blank: of the completions in the last ten steps the mean length, the share that says a step twice,
  and the share without any step.
- seconds: median time of a step, stage 2 included.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from misjudged_results import finished_runs, problems_of, show
from results_data import step_seconds

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.domains.nano.arithmetic import STEP, Steps
from cooper_rl.evaluation.process import scores_of
from cooper_rl.jsonl import whole_records
from cooper_rl.method.loop import REWARD_MODEL
from cooper_rl.records import THRESHOLD
from cooper_rl.report.runs import Run
from cooper_rl.settings.files import resolve_model
from cooper_rl.steps import first_below, step_ends
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.triples import read_triples

REACHED, LAST = 0.4, 10
COLUMNS = {
    "true_accuracy": "true accuracy",
    "true_accuracy_mean": "over the run",
    "steps_to_40": "steps to 0.4",
    "slips_f1": "F1 (slips)",
    "slips_f1_start": "start",
    "rollouts_f1": "F1 (rollouts)",
    "tokens": "tokens",
    "repeated": "repeated",
    "blank": "blank",
    "seconds": "seconds",
}
Data = dict[str, Any]


def f1(values: Iterable[Iterable[float]], first_errors: Iterable[int]) -> float:
    """How well the first low value marks the first error, at the threshold 0.5."""
    predicted = [first_below(values_S, THRESHOLD) for values_S in values]
    return scores_of(np.array(predicted), np.array(list(first_errors)))["f1"]


@cache
def f1_of(model: str, file: str) -> float:
    """F1 of a reward model's values on a file of solutions whose first error is known."""
    triples = read_triples(file)
    values = VerifyRM.from_pretrained(model).step_values(triples, [triple.ends for triple in triples])
    return f1(values, [triple.first_error or 0 for triple in triples])


def of_rollouts(run: Run) -> Data:
    """The figures of the last steps' completions."""
    world, problems = Steps(), problems_of(run)
    rows = [row for path in run.steps_of("rollouts")[-LAST:] for row in whole_records(path)]
    steps = [_texts(row["completion"]) for row in rows]
    valued = [row for row in rows if len(row.get("step_values", ())) > 1]
    found: Data = {
        "repeated": fmean(len(set(own)) < len(own) for own in steps),
        "blank": fmean(not own for own in steps),
        "rollouts_f1": math.nan,
    }
    if valued:
        errors = (world.first_error(problems[row["problem_id"]], row["completion"]) for row in valued)
        found["rollouts_f1"] = f1((row["step_values"] for row in valued), errors)
    return found


def _texts(completion: str) -> list[str]:
    ends = step_ends(completion, STEP)
    return [completion[a:b].strip() for a, b in zip([0, *ends], ends, strict=False)]


def record_of(run: Run) -> Data:
    """The record of a run."""
    measured, triples = run.series("eval/true_accuracy"), run.config["heldout_triples"]
    checkpoint = last_checkpoint(run.path)
    assert checkpoint
    start = resolve_model(run.config["reward_model_name_or_path"], "reward_model")
    record = {
        "variant": run.arm,
        "seed": run.seed,
        "commit": str(run.environment.get("commit", "?"))[:7],
        "series": {"eval/true_accuracy": measured},
        "true_accuracy_start": measured[0][1],
        "true_accuracy": measured[-1][1],
        "true_accuracy_mean": fmean(value for _, value in measured),
        "steps_to_40": next((step for step, value in measured if value >= REACHED), math.nan),
        "slips_f1": f1_of(str(checkpoint / REWARD_MODEL), triples),
        "slips_f1_start": f1_of(start, triples),
        "tokens": fmean(run.values("completions/mean_length")[-LAST:]),
        "seconds": median(step_seconds(run)),
        **of_rollouts(run),
    }
    return {name: value for name, value in record.items() if value == value}  # without NaN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="run folders, or folders that hold them")
    parser.add_argument("--out", type=Path, help="a .json file for the records; it keeps those of other runs")
    arguments = parser.parse_args()
    records = sorted(map(record_of, finished_runs(arguments.folders)), key=lambda r: (r["variant"], r["seed"]))
    show(records, COLUMNS, arguments.out)


if __name__ == "__main__":
    main()
