"""A nano world in which the truth of every step is known: sums of three terms.

`python -m cooper_rl.domains.nano.slips --size 90000 --out FILE` writes solutions with a slip at a known step, so that a
reward model learns the values of steps.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from cooper_rl.domains.nano.arithmetic import Arithmetic
from cooper_rl.domains.nano.triples import answers_by_source, written_triple
from cooper_rl.jsonl import line_of, write_atomically
from cooper_rl.records import Problem
from cooper_rl.steps import step_ends
from cooper_rl.synthesis.wrong_numbers import near_miss

_NUMBER = r"-?\d+(?:\.\d+)?"
_EQUATION = re.compile(rf"({_NUMBER}) ([+-]) ({_NUMBER}) = ({_NUMBER})")
STEP = "sentence"  # what a step of these solutions is
RIGHT, BLANK, PLAIN = 0.5, 0.1, 0.4  # shares of solutions without a slip, without an answer, and as nano was taught on


class Slips(Arithmetic):
    """`nano-steps`: the nano world's sums of three terms. Their worked solution has two equations, one a sentence."""

    name = "nano-steps"
    weights: ClassVar = {"chain_sum": 0.5, "decimal_chain_sum": 0.5}

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task; sums of two terms are left out."""
        yield from (problem for problem in super().stream(task, seed) if len(problem.metadata["steps"]) > 1)

    def first_error(self, problem: Problem, completion: str) -> int:
        """The index of the completion's first wrong step, -1 where none is wrong.

        A step with an equation is right where the worked solution has that equation. Another is wrong where it states
        an answer that is wrong. Where every step passes and the answer is not right all the same, it is the last one.
        """
        known = {equation for step in problem.metadata["steps"] for equation in _EQUATION.findall(step)}
        start, ends = 0, step_ends(completion, STEP)
        for index, end in enumerate(ends):
            step, start = completion[start:end], end
            equations = _EQUATION.findall(step)
            stated = None if equations else self.stated(step)
            if set(equations) - known or (stated is not None and not self.is_true(problem, step)):
                return index
        return -1 if self.is_true(problem, completion) else max(0, len(ends) - 1)

    def slipped_at(self, problem: Problem, index: int, rng: random.Random) -> Problem:
        """The problem with a worked solution whose step `index` has a wrong result, which the later steps go on from.

        Args:
            index: the number of steps puts the slip into the closing statement.
        """
        steps: list[str] = []
        results: list[str] = []
        for place, step in enumerate(problem.metadata["steps"]):
            left, sign, right, result = _EQUATION.findall(step)[0]
            if place > index:
                left = results[-1]
            if place >= index:
                result = str(_value(left, sign, right))
            results.append(near_miss(result, rng) if place == index else result)
            steps.append(f"{left} {sign} {right} = {results[-1]}.")
        last = results[-1] if index < len(steps) else near_miss(results[-1], rng)
        return replace(problem, reference_answer=last, metadata={**problem.metadata, "steps": steps})


def _value(left: str, sign: str, right: str) -> Decimal:
    a, b = Decimal(left), Decimal(right)
    return a + b if sign == "+" else a - b


def process_triple(world: Slips, problem: Problem, rng: random.Random) -> dict[str, Any]:
    """A solution of all steps with the problem's own reference, right or with a slip at a step drawn at random.

    A tenth has no answer. A reward model that never saw such completions is hacked by them.
    """
    slip = rng.random() >= RIGHT
    told = world.slipped_at(problem, rng.randint(0, len(problem.metadata["steps"])), rng) if slip else problem
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
    world, rng = Slips(), random.Random(seed)
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
