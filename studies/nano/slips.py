"""Labelled triples of `nano-steps` with a slip at a known step, from which a reward model learns the values of steps.

`python -m studies.nano.slips --size 90000 --out FILE` writes them.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from cooper_rl.domains.nano.arithmetic import STEP, Steps
from cooper_rl.jsonl import line_of, write_atomically
from cooper_rl.records import Problem
from cooper_rl.steps import step_ends
from studies.nano.triples import answers_by_source, written_triple

RIGHT, BLANK, PLAIN = 0.5, 0.1, 0.4  # shares of solutions without a slip, without an answer, and as nano was taught on


def process_triple(world: Steps, problem: Problem, rng: random.Random) -> dict[str, Any]:
    """A solution of all steps with the problem's own reference, right or with a slip at a step drawn at random.

    A tenth has no answer. A reward model that never saw such completions is hacked by them.
    """
    slip = rng.random() >= RIGHT
    told = world.slip_at(problem, rng.randint(0, len(problem.metadata["steps"])), rng) if slip else problem
    completion = world.write(told, rng, "blank" if rng.random() < BLANK else "steps")
    error = world.first_error(problem, completion)
    return {
        "question": problem.question,
        "reference": problem.reference_answer,
        "completion": completion,
        "correct": error < 0,
        "step_ends": step_ends(completion, STEP),
        "first_error": error,
        "source": problem.source,
        "problem_id": problem.problem_id,
    }


def process_triples(split: str, size: int, seed: int, plain: float = PLAIN) -> list[dict[str, Any]]:
    """`size` triples, on average four of each problem.

    Args:
        plain: this share is as the nano VerifyRM was taught on, with a label of the whole only.
    """
    world, rng = Steps(), random.Random(seed)
    problems = world.problems(split, -(-size // 4), seed)
    answers = answers_by_source(world, problems)
    drawn = [rng.choice(problems) for _ in range(size)]
    return [
        written_triple(world, problem, answers[problem.source], rng)
        if rng.random() < plain
        else process_triple(world, problem, rng)
        for problem in drawn
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write labelled triples with known first errors.")
    parser.add_argument("--split", default="train")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", type=float, default=PLAIN, help="share of triples with a label of the whole only")
    parser.add_argument("--out", type=Path, required=True)
    a = parser.parse_args()
    write_atomically(a.out, "".join(map(line_of, process_triples(a.split, a.size, a.seed, a.plain))))


if __name__ == "__main__":
    main()
