"""A nano world in which the truth of every step is known: sums of three terms."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar

from cooper_rl.domains.nano.arithmetic import Arithmetic
from cooper_rl.records import Problem
from cooper_rl.steps import step_ends
from cooper_rl.synthesis.wrong_numbers import near_miss

_NUMBER = r"-?\d+(?:\.\d+)?"
_EQUATION = re.compile(rf"({_NUMBER}) ([+-]) ({_NUMBER}) = ({_NUMBER})")
STEP = "sentence"  # what a step of these solutions is


class Steps(Arithmetic):
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
        steps, result = list[str](), ""
        for place, step in enumerate(problem.metadata["steps"]):
            left, sign, right, _ = _EQUATION.findall(step)[0]
            left = result or left  # each step goes on from the one before
            result = str(Decimal(left) + Decimal(right) * (1 if sign == "+" else -1))
            result = near_miss(result, rng) if place == index else result
            steps.append(f"{left} {sign} {right} = {result}.")
        last = result if index < len(steps) else near_miss(result, rng)
        return replace(problem, reference_answer=last, metadata={**problem.metadata, "steps": steps})
