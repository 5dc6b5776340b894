"""Labelled triples for training the nano VerifyRM: generated solutions with the right reference or another one.

`python -m studies.nano.triples --size 60000 --out FILE` writes them. Solution and reference may both be
wrong. The label says whether they agree, so that neither alone gives it away. No text is the policy's own: published
reward models are trained on other models' completions, too.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cooper_rl.domains.nano import NANO, WORLDS
from cooper_rl.domains.nano.demonstrations import NanoWorld
from cooper_rl.jsonl import line_of, write_atomically
from cooper_rl.records import Problem

WAYS = ("steps", "last_step", "direct")
STATEMENTS = 0.45  # share of bare closing sentences without a question: on these the model first learns to compare


def written_triple(
    world: NanoWorld,
    problem: Problem,
    others: Sequence[str],
    rng: random.Random,
    own_reference: bool = False,
    statements: float = STATEMENTS,
) -> dict[str, Any]:
    """A triple of the problem: a solution, right or wrong, and a reference that may or may not agree with it.

    Args:
        others: answers of other problems of the same task, from which wrong answers are drawn.
        own_reference: True always takes the problem's own reference and gives the question. The label then follows
            from question and solution, so that a reward model that sees no reference can learn from it.
        statements: share of the triples that are bare closing sentences without a question.
    """
    statement = rng.random() < statements and not own_reference
    told = problem if rng.random() < 0.5 else world.slip(problem, rng.choice(others))
    completion = world.write(told, rng, "direct" if statement else rng.choice(WAYS))
    reference = told.reference_answer if rng.random() < 0.5 else rng.choice(others)
    reference = problem.reference_answer if own_reference else reference
    return {
        "question": "" if statement else problem.question,
        "reference": reference,
        "completion": completion,
        "correct": world.canonical(reference) == world.read_answer(completion),
        "source": problem.source,
        "problem_id": problem.problem_id,
    }


def written_triples(
    split: str, size: int, seed: int, own_reference: bool = False, world: NanoWorld = NANO
) -> list[dict[str, Any]]:
    """`size` triples, on average four of each problem."""
    rng = random.Random(seed)
    problems = world.problems(split, -(-size // 4), seed)
    answers = answers_by_source(world, problems)
    drawn = [rng.choice(problems) for _ in range(size)]
    return [written_triple(world, problem, answers[problem.source], rng, own_reference) for problem in drawn]


def answers_by_source(world: NanoWorld, problems: Sequence[Problem]) -> dict[str, list[str]]:
    """The answers of each task's problems, from which wrong answers are drawn."""
    answers: dict[str, list[str]] = {}
    for problem in problems:
        answers.setdefault(problem.source, []).append(world.answer(problem))
    return answers


def lesson_triples(world: NanoWorld, task: str, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """`size` triples, three quarters of them of one task, mostly bare closing sentences.

    From these a reward model that knows the other tasks learns to compare the answers of this one.
    """
    rng = random.Random(seed)
    problems = world.problems(split, size // 2, seed)
    mine = [problem for problem in problems if problem.metadata["task"] == task]
    rest = [problem for problem in problems if problem.metadata["task"] != task]
    answers = answers_by_source(world, problems)

    def written(problem: Problem, statements: float) -> dict[str, Any]:
        return written_triple(world, problem, answers[problem.source], rng, statements=statements)

    triples = [written(rng.choice(mine), 0.8) for _ in range(3 * size // 4)]
    triples += [written(rng.choice(rest), STATEMENTS) for _ in range(size - len(triples))]
    rng.shuffle(triples)
    return triples


def main() -> None:
    parser = argparse.ArgumentParser(description="Write labelled triples for the nano VerifyRM.")
    parser.add_argument("--world", choices=WORLDS, default="nano")
    parser.add_argument("--split", default="train")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own_reference", action="store_true", help="keep each problem's own reference answer")
    parser.add_argument("--lesson", metavar="TASK", help="mostly triples of this task, mostly bare")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    world = WORLDS[arguments.world]
    if arguments.lesson:
        triples = lesson_triples(world, arguments.lesson, arguments.split, arguments.size, arguments.seed)
    else:
        triples = written_triples(arguments.split, arguments.size, arguments.seed, arguments.own_reference, world)
    write_atomically(arguments.out, "".join(map(line_of, triples)))


if __name__ == "__main__":
    main()
