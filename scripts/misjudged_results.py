"""What became of runs whose rule calls right answers wrong (recipes/experiments/misjudged.yaml).

python scripts/misjudged_results.py runs/experiments/misjudged --out docs/data/misjudged.json

Writes a record a run, and prints a row a variant, means over its seeds:

- true accuracy: at the end of the run, on its held-out problems.
- recall (misjudged): of the base policy's right completions that the run's rule calls INCORRECT, the share that the
  final reward model accepts; `start` is that of the starting reward model. recall (others): of its other right ones.
- mined pure, replayed pure: the share of the mined negatives, and of the rollouts kept for replay as wrong, that are
  wrong by the world's truth.

The completions are drawn once and kept in `--completions`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from results_data import runs_in

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.jsonl import line_of, whole_records, write_atomically
from cooper_rl.method.labelled import FILE
from cooper_rl.method.loop import REWARD_MODEL
from cooper_rl.records import THRESHOLD, Problem, Triple, Verdict
from cooper_rl.report.runs import Run
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm import VerifyRM

WEIGHTS = "model.safetensors"
SIZE, SEED = 6000, 5  # completions of the base policy, of which about a quarter is right
COLUMNS = {
    "true_accuracy": "true accuracy",
    "recall_misjudged": "recall (misjudged)",
    "recall_misjudged_start": "start",
    "recall_others": "recall (others)",
    "recall_others_start": "start",
    "mined_pure": "mined pure",
    "mined_right": "right ones mined",
    "replayed_pure": "replayed pure",
    "rolled_back": "rolled back",
}

Data = dict[str, Any]


def right_completions(path: Path, policy: str) -> list[Triple]:
    """The right ones of `SIZE` completions of the base policy, from the file or drawn anew and written to it."""
    if not path.is_file():
        sys.path.append(str(Path(__file__).parents[1]))  # where studies is
        from studies.nano.collect import collect

        found = collect(resolve_model(policy, "policy"), "reward_model_heldout", SIZE, SEED)
        write_atomically(path, "".join(line_of(record) for record in found if record["correct"]))
    return [Triple(r["question"], r["reference"], r["completion"]) for r in whole_records(path)]


class BaseCompletions:
    """The base policy's right completions, with what each rule and each reward model says of them."""

    def __init__(self, right: Sequence[Triple]) -> None:
        self.right = right
        self._misjudged: dict[str, list[bool]] = {}
        self._accepted: dict[str, list[bool]] = {}

    def misjudged(self, kind: str) -> list[bool]:
        """Whether the rule of this name calls each INCORRECT."""
        if kind not in self._misjudged:
            with RuleVerifier(kind, workers=1) as verifier:
                found = verifier.verify_many(
                    [r.reference_answer for r in self.right], [r.completion for r in self.right]
                )
            self._misjudged[kind] = [verdict is Verdict.INCORRECT for verdict in found]
        return self._misjudged[kind]

    def recalls(self, model: str, kind: str) -> tuple[float, float]:
        """The share that the reward model accepts of those that the rule calls INCORRECT, and of all others."""
        if model not in self._accepted:
            scores = VerifyRM.from_pretrained(model).score_records(self.right)
            self._accepted[model] = [score > THRESHOLD for score in scores.tolist()]
        pairs = list(zip(self._accepted[model], self.misjudged(kind), strict=True))
        parts = ([accepted for accepted, wrong in pairs if wrong is side] for side in (True, False))
        misjudged, others = (fmean(part) if part else math.nan for part in parts)
        return misjudged, others


def problems_of(run: Run) -> Mapping[str, Problem]:
    """The run's training problems by their id."""
    return _problems(run.config["dataset_name"], tuple(run.problem_settings.items()))


@cache
def _problems(name: str, which: tuple[tuple[str, Any], ...]) -> dict[str, Problem]:
    return {problem.problem_id: problem for problem in load_problems(name, **dict(which))}


def truths(run: Run, problems: Mapping[str, Problem], negatives: Iterable[tuple[str, str]]) -> list[bool]:
    """Whether each completion, given with its problem's id, is in truth right."""
    is_true = truth_of(run.config["dataset_name"])
    assert is_true, "the world knows the truth"
    return [bool(is_true(problems[problem_id], completion)) for problem_id, completion in negatives]


def record_of(run: Run, base: BaseCompletions) -> Data:
    """The record of a run."""
    measured = run.series("eval/true_accuracy")
    record: Data = {
        "variant": run.arm,
        "seed": run.seed,
        "commit": str(run.environment.get("commit", "?"))[:7],
        "true_accuracy_start": measured[0][1],
        "true_accuracy": measured[-1][1],
        "alarm_step": run.alarm_step,
        "rolled_back": sum(run.values("reward_model/rolled_back")),
    }
    checkpoint = last_checkpoint(run.path)
    if not checkpoint or not (checkpoint / REWARD_MODEL / WEIGHTS).is_file():
        return record  # nothing was co-trained: its reward model, if it has one, is the starting one
    rule, start = run.config["verifier"], resolve_model(run.config["reward_model_name_or_path"], "reward_model")
    record["misjudged"] = sum(base.misjudged(rule))
    for model, suffix in ((str(checkpoint / REWARD_MODEL), ""), (start, "_start")):
        record[f"recall_misjudged{suffix}"], record[f"recall_others{suffix}"] = base.recalls(model, rule)
    problems = problems_of(run)
    pairs = [pair for path in run.steps_of("pairs") for pair in whole_records(path)]
    mined = [(pair["problem_id"], pair["negative"]) for pair in pairs if pair["negative_source"] == "mined"]
    _, *kept = whole_records(checkpoint / REWARD_MODEL / FILE)
    replayed = [(triple["problem_id"], triple["completion"]) for triple in kept if not triple["correct"]]
    for name, negatives in (("mined", mined), ("replayed", replayed)):
        right = truths(run, problems, negatives)
        record |= {f"{name}_count": len(right), f"{name}_right": sum(right)}
        record[f"{name}_pure"] = 1 - fmean(right) if right else math.nan
    return record


def mean_of(records: Sequence[Data], key: str) -> str:
    """A cell: the mean over the runs that have this entry."""
    values = [record[key] for record in records if not math.isnan(record.get(key, math.nan))]
    return f"{fmean(values):.3f}" if values else "-"


def table(records: Sequence[Data], columns: Mapping[str, str]) -> str:
    """A row a variant; `columns` are titles by the entries' names."""
    lines = [["variant", "seeds", *columns.values()], ["---"] * (2 + len(columns))]
    for variant, group in groupby(records, key=lambda record: str(record["variant"])):
        runs = list(group)
        lines.append([variant, str(len(runs)), *(mean_of(runs, key) for key in columns)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def finished_runs(folders: Sequence[Path]) -> list[Run]:
    """As `results_data.runs_in`; without any, the program ends."""
    runs = runs_in(folders)
    if not runs:
        raise SystemExit(f"{folders[0]}: no finished run")
    return runs


def show(records: Sequence[Data], columns: Mapping[str, str], out: Path | None) -> None:
    """Prints the table, and writes the records into a file where one is named; it keeps those of other runs."""
    if out:
        kept = json.loads(out.read_text()) if out.is_file() else []
        known = {(record["variant"], record["seed"]): record for record in [*kept, *records]}
        records = [known[place] for place in sorted(known)]
        lines = ",\n".join(json.dumps(record) for record in records)
        write_atomically(out, f"[\n{lines}\n]\n")
    sys.stdout.write(table(records, columns) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="run folders, or folders that hold them")
    parser.add_argument("--out", type=Path, help="a .json file for the records; it keeps those of other runs")
    parser.add_argument("--completions", type=Path, default=Path("runs/misjudged-completions.jsonl"))
    arguments = parser.parse_args()
    runs = finished_runs(arguments.folders)
    base = BaseCompletions(right_completions(arguments.completions, runs[0].config["model_name_or_path"]))
    records = sorted((record_of(run, base) for run in runs), key=lambda r: (r["variant"], r["seed"]))
    show(records, COLUMNS, arguments.out)


if __name__ == "__main__":
    main()
