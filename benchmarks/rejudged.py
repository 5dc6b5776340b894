"""What the rule paid in runs on a data set with a truth of its own, and what the rule of now would pay of the same.

    PYTHONPATH=. python benchmarks/rejudged.py RUN [RUN ...] --steps 50

A line for each block of steps:

- right: the share of the rollouts that the truth calls right;
- right by half: the same where one right clause is enough of several by subject ("Ann sang and Bo ran");
- paid: how many the rule called CORRECT in the run, and how many of these are wrong;
- paid now: the same for the rule of now;
- given up: how many right ones of those paid it no longer calls CORRECT.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import gt
from pathlib import Path
from typing import Any

from exploits_left import judged

from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.records import Verdict
from cooper_rl.report.runs import Run, read_run
from cooper_rl.verifiers import RuleVerifier

CLAUSE = re.compile(r",? (?:and|while) (?=[A-Z])")


def right_by_half(run: Run, rows: Iterable[dict[str, Any]]) -> list[bool]:
    """For each rollout whether one of its clauses is right."""
    is_true = truth_of(run.config["dataset_name"])
    assert is_true  # `judged` has asked for it
    problems = {p.problem_id: p for p in load_problems(run.config["dataset_name"], **run.problem_settings)}
    return [any(is_true(problems[r["problem_id"]], part) for part in CLAUSE.split(r["completion"])) for r in rows]


def line(rows: Sequence[dict[str, Any]], right: Sequence[bool], halves: Sequence[bool], now: Sequence[bool]) -> str:
    """The cells of a block. `now` says which ones the rule of now calls CORRECT."""
    paid = [row["verdict"] == "CORRECT" for row in rows]
    shares = (sum(right) / len(rows), sum(a or b for a, b in zip(right, halves, strict=True)) / len(rows))
    counts = (f"{sum(some)}, {sum(map(gt, some, right))} wrong" for some in (paid, now))
    given_up = sum(a and b and not c for a, b, c in zip(paid, right, now, strict=True))
    return " | ".join([*(f"{share:.3f}" for share in shares), *counts, str(given_up)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=50, help="steps of a block")
    arguments = parser.parse_args()
    print("| run | steps | right | right by half | paid | paid now | given up |\n|---|---|---|---|---|---|---|")
    for path in arguments.runs:
        run = read_run(path)
        rows, right = (list(side) for side in zip(*judged(run), strict=True))
        with RuleVerifier(run.config["verifier"], workers=1) as rule:
            verdicts = rule.verify_many([r["reference_answer"] for r in rows], [r["completion"] for r in rows])
        now, halves = [verdict is Verdict.CORRECT for verdict in verdicts], right_by_half(run, rows)
        blocks = [(row["step"] - 1) // arguments.steps for row in rows]
        for number, of_block in groupby(range(len(rows)), blocks.__getitem__):
            places, begin = list(of_block), number * arguments.steps
            cells = line(*([side[at] for at in places] for side in (rows, right, halves, now)))
            print(f"| {path.name} | {begin + 1}-{begin + arguments.steps} | {cells} |")


if __name__ == "__main__":
    main()
