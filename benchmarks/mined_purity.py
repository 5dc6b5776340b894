"""What each witness adds: how many right completions would be mined, and how many true exploits would be lost.

    python benchmarks/mined_purity.py RUN [RUN ...] [--misses_per_hit 0.03]

Reads the rollouts of finished runs on a data set whose truth is known (a nano world), and weighs them step by step as
a run does. For no witness, each witness alone and both (with the present score, and with the score by the reward model
as it was when the run began), at several values of `mined_max_right`:

- mined: completions that the source `mined` would take, `pairs_per_prompt` of each prompt with a CORRECT rollout;
- purity: the share of these that are truly wrong;
- replayed: completions that would be replayed as wrong, and their purity;
- lost: of the truly wrong completions that the reward model scores above 0.5, the share that is held back.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path

import numpy as np

from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.jsonl import whole_records
from cooper_rl.method.doubt import Doubt, Neighbours, logits, shares
from cooper_rl.method.negatives import rank_mined
from cooper_rl.records import THRESHOLD, Batch, Report, Rollout, Verdict
from cooper_rl.report.runs import Run, read_run
from cooper_rl.verifiers.kinds import misses_per_hit
from cooper_rl.verifyrm import VerifyRM

WITNESSES = {  # for each: the score that is compared, if any, and whether agreement is asked
    "none": (None, False),
    "agreement": ("first", True),
    "present score": ("present", False),
    "first score": ("first", False),
    "agreement and present score": ("present", True),
    "agreement and first score": ("first", True),
}
Weighed = tuple[Rollout, bool, dict[str, float]]  # a rollout, whether it is truly right, the estimate by witness


def rollout_of(row: dict[str, object]) -> Rollout:
    """A line of `rollouts/`, as the run scored it: without a first score, and not held back."""
    names = {field.name for field in fields(Rollout)} - {"start_score", "right_estimate", "held_back"}
    return Rollout.from_record({key: value for key, value in row.items() if key in names})


def weighed(run: Run, misses: float | None) -> Iterator[list[Weighed]]:
    """The rollouts of each step with their truth and estimates."""
    name, rate = run.config["dataset_name"], misses_per_hit(run.config["verifier"]) if misses is None else misses
    truth = truth_of(name)
    if truth is None:
        raise SystemExit(f"{run.path}: the data set {name} has no truth of its own")
    problems = {problem.question: problem for problem in load_problems(name, **run.problem_settings)}
    model = VerifyRM.from_pretrained(run.config["reward_model_name_or_path"])
    doubts = {score: Doubt(rate, 1.0) for score in ("present", "first")}
    for step, path in enumerate(run.steps_of("rollouts"), 1):
        present = [rollout_of(row) for row in whole_records(path)]
        first_scores = model.score_records(present).tolist()
        first = [replace(rollout, start_score=score) for rollout, score in zip(present, first_scores, strict=True)]
        for score, rollouts in (("present", present), ("first", first)):
            doubts[score].after(Report(step, Batch(step, tuple(rollouts), ())), whole=False)
        places = {"present": logits(present), "first": logits(first)}
        seen = {score: np.array(doubt.seen, dtype=np.float64).reshape(-1, 4) for score, doubt in doubts.items()}
        neighbours = {score: Neighbours(seen_N4) for score, seen_N4 in seen.items()}
        yield [
            (
                rollout,
                bool(truth(problems[rollout.question], rollout.completion)),
                estimates(neighbours, rate, rollout, {score: found[index] for score, found in places.items()}, share),
            )
            for index, (rollout, share) in enumerate(zip(present, shares(present), strict=True))
        ]


def estimates(
    neighbours: dict[str, Neighbours], rate: float, rollout: Rollout, logit: dict[str, float], share: float
) -> dict[str, float]:
    """P(right) by each choice of witnesses; 0 where the rollout is not doubtful."""
    found = dict.fromkeys(WITNESSES, 0.0)
    if not rollout.verification.doubtful:
        return found
    for name, (score, agreement) in WITNESSES.items():
        if score:
            place = None if name == "agreement" else logit[score]
            found[name] = neighbours[score].estimate(rate, place, share if agreement else None)
    return found


def counted(steps: list[list[Weighed]], witness: str, most: float, per_prompt: int) -> Counter[str]:
    """What would be mined, replayed and lost, over all steps."""
    counts: Counter[str] = Counter()
    for step in steps:
        groups: dict[int, list[Weighed]] = {}
        for rollout, right, by_witness in step:
            judged = replace(rollout, held_back="both" if by_witness[witness] > most else "")
            groups.setdefault(rollout.group, []).append((judged, right, by_witness))
            if judged.teachable_as_wrong:
                counts.update(["replayed", *(["replayed right"] if right else [])])
            if rollout.verification.surely_wrong and not right and rollout.score > THRESHOLD:
                counts.update(["exploits", *(["lost"] if judged.held_back else [])])
        for group in groups.values():
            truths = {rollout.completion: right for rollout, right, _ in group}
            if any(rollout.verdict is Verdict.CORRECT for rollout, _, _ in group):
                for text in islice(rank_mined([rollout for rollout, _, _ in group]), per_prompt):
                    counts.update(["mined", *(["mined right"] if truths[text] else [])])
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--misses_per_hit", type=float)
    parser.add_argument("--pairs_per_prompt", type=int, default=2)
    parser.add_argument("--max_right", type=float, nargs="+", default=[0.05])
    args = parser.parse_args()
    steps = [step for path in args.runs for step in weighed(read_run(path), args.misses_per_hit)]
    doubtful = [right for step in steps for rollout, right, _ in step if rollout.verification.doubtful]
    print(f"{len(steps)} steps, {len(doubtful)} doubtful rollouts, {sum(doubtful)} of them right")
    print("| witness | max_right | mined | purity | replayed | purity | exploits lost |\n|---|---|---|---|---|---|---|")
    for witness in WITNESSES:
        for most in args.max_right if witness != "none" else [1.0]:
            n = counted(steps, witness, most, args.pairs_per_prompt)
            purity = [1 - n[f"{kind} right"] / max(1, n[kind]) for kind in ("mined", "replayed")]
            lost = n["lost"] / max(1, n["exploits"])
            print(
                f"| {witness} | {most} | {n['mined']} | {purity[0]:.3f} | {n['replayed']} | {purity[1]:.3f}"
                f" | {n['lost']} of {n['exploits']} ({lost:.0%}) |"
            )


if __name__ == "__main__":
    main()
