"""Labelled triples for training the nano VerifyRM: written solutions against the right reference and others.

`python -m cooper_rl.nano.triples --size 60000 --out FILE` writes them. Both the solution and the reference may be off:
the label says whether they agree, so neither alone gives it away. None of it is the policy's own text, as published
reward models are trained on other models' completions too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from cooper_rl.nano.truth import stated_value
from cooper_rl.nano.world import nano_problems
from cooper_rl.nano.writer import near_miss, reference_value, write_demonstration
from cooper_rl.records import Problem

WAYS = ("steps", "last_step", "direct")
STATEMENTS = 0.45  # share that is a closing statement without its question: short, and where comparing is learned first


def slipped(problem: Problem, rng: random.Random) -> Problem:
    """The same question with another answer, to which the last of its worked steps leads."""
    value = reference_value(problem)
    wrong = near_miss(value, rng)
    head, _, tail = problem.metadata["steps"][-1].rpartition(f"= {value}")
    last = f"{head}= {wrong}{tail}" if head else problem.metadata["steps"][-1]
    steps = [*problem.metadata["steps"][:-1], last]
    return replace(problem, reference_answer=wrong, metadata={**problem.metadata, "steps": steps})


def written_triple(problem: Problem, rng: random.Random) -> dict[str, Any]:
    """A solution of the problem, right or with a slip, beside a reference that is what it states or is not."""
    statement = rng.random() < STATEMENTS
    told = problem if rng.random() < 0.5 else slipped(problem, rng)
    completion = write_demonstration(told, rng, "direct" if statement else rng.choice(WAYS))
    same = rng.random() < 0.5
    return {
        "question": "" if statement else problem.question,
        "reference": told.reference_answer if same else near_miss(reference_value(told), rng),
        "completion": completion,
        "correct": same,
        "source": problem.source,
        "problem_id": problem.problem_id,
    }


def written_triples(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """`size` triples, four of each problem on average."""
    rng = random.Random(seed)
    problems = nano_problems(split, -(-size // 4), seed)
    triples = [written_triple(rng.choice(problems), rng) for _ in range(size)]
    assert all(stated_value(triple["completion"]) is not None for triple in triples)
    return triples


def main() -> None:
    parser = argparse.ArgumentParser(description="Write labelled triples for the nano VerifyRM.")
    parser.add_argument("--split", default="train")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    temporary = arguments.out.with_suffix(".part")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    triples = written_triples(arguments.split, arguments.size, arguments.seed)
    temporary.write_text("".join(json.dumps(triple) + "\n" for triple in triples))
    os.replace(temporary, arguments.out)


if __name__ == "__main__":
    main()
