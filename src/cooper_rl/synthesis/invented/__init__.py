"""Invents pairs of a reference answer and a completion's answer that have nothing to do with the question.

Each kind makes the two so that it is known whether they are the same, without asking a rule. A reward model that is
trained on them must compare the two answers and cannot rely on solving the problem itself.
"""

from __future__ import annotations

import random

from cooper_rl.synthesis.invented.algebra import functions, periodic
from cooper_rl.synthesis.invented.products import products
from cooper_rl.synthesis.invented.sets import counts, intervals, lists, orders
from cooper_rl.synthesis.invented.texts import after_working, choices, without_answer
from cooper_rl.synthesis.invented.values import numbers

__all__ = ["KINDS", "after_working", "answers", "choices", "without_answer"]

# Each kind, and how many times of 100 it is drawn.
KINDS = {numbers: 26, lists: 21, intervals: 16, functions: 15, products: 8, counts: 5, orders: 5, periodic: 4}
_GIVEN_UP = ("unknown", "none", "no solution", "undefined", "cannot be determined", "\\text{unknown}", "\\emptyset")


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same answer in two writings if `right`, else two answers that look alike."""
    reference, answer = rng.choices(list(KINDS), list(KINDS.values()))[0](right, rng)
    if not right and rng.random() < 0.04:
        answer = rng.choice(_GIVEN_UP)
    dresses = ((reference, answer), (f"${reference}$", answer), (f"${reference}$", f"${answer}$"))
    return rng.choices(dresses, (7, 2, 1))[0]
