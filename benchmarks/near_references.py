"""What near wrong references would refuse of the completions that a run's reward model accepted, right and wrong.

    PYTHONPATH=. python benchmarks/near_references.py RUN MODEL --steps 100 200 --count 100

Reads kept rollouts of a run on a data set whose truth is known, and scores accepted completions once more with MODEL,
each under one near wrong reference, as `counterfactual_near` draws them: made of the run's own reference answers, and
proved wrong by the run's rule. A good near reference refuses wrong completions and no right ones.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from exploits_left import judged

from cooper_rl import VerifyRM
from cooper_rl.records import THRESHOLD, LabelledCompletion
from cooper_rl.report.runs import read_run
from cooper_rl.synthesis.near_reference import under_near_references
from cooper_rl.synthesis.other_reference import AnswerPool
from cooper_rl.verifiers import RuleVerifier

TRIPLE = ("question", "reference_answer", "completion")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("model", help="folder or name of a VerifyRM")
    parser.add_argument("--steps", type=int, nargs=2, default=(1, 10**9), help="the first and the last step to read")
    parser.add_argument(
        "--count", type=int, default=100, help="distinct completions, of the right ones and of the wrong"
    )
    arguments = parser.parse_args()
    run, rng = read_run(arguments.run), random.Random(0)
    rows = list(judged(run))
    pool = AnswerPool(row["reference_answer"] for row, _ in rows)
    first, last = arguments.steps
    accepted = {
        (row["question"], row["completion"]): (row, right)
        for row, right in rows
        if first <= row["step"] <= last and row["score"] > THRESHOLD
    }
    model = VerifyRM.from_pretrained(arguments.model)
    print("| accepted completions | looked at | tested | refused |\n|---|---|---|---|")
    with RuleVerifier(run.config["verifier"], workers=1) as rule:
        for name, label in (("right", True), ("wrong", False)):
            own = [row for row, right in accepted.values() if right == label]
            own = rng.sample(own, min(arguments.count, len(own)))
            triples = [LabelledCompletion(*(row[key] for key in TRIPLE), correct=label) for row in own]
            asked = [*under_near_references(triples, pool, rng, rule).values()]
            scores = model.score_records(asked) if asked else []
            refused = sum(float(score) > THRESHOLD for score in scores)  # accepted under a wrong reference too
            print(f"| {name} | {len(own)} | {len(asked)} | {refused} |")


if __name__ == "__main__":
    main()
