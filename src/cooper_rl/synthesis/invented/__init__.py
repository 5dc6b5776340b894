"""Answers invented for a question that has others: what VerifyRM must compare, whatever the question.

Each kind gives the reference answer and a completion's answer, of which it is known whether they are the same: no rule
has to say so. A reward model that is shown them cannot rely on solving the problem itself.
"""

from __future__ import annotations

import random

from cooper_rl.synthesis.invented.algebra import functions, periodic
from cooper_rl.synthesis.invented.products import products
from cooper_rl.synthesis.invented.sets import counts, intervals, lists, orders
from cooper_rl.synthesis.invented.texts import after_working, choices, without_answer
from cooper_rl.synthesis.invented.values import numbers

__all__ = ["KINDS", "after_working", "answers", "choices", "without_answer"]

# Each kind and how often it is drawn, of 100.
KINDS = {numbers: 26, lists: 21, intervals: 16, functions: 15, products: 8, counts: 5, orders: 5, periodic: 4}
_GIVEN_UP = ("unknown", "none", "no solution", "undefined", "cannot be determined", "\\text{unknown}", "\\emptyset")


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same thing in two writings, or two things that look alike."""
    reference, answer = rng.choices(list(KINDS), list(KINDS.values()))[0](right, rng)
    if not right and rng.random() < 0.04:
        answer = rng.choice(_GIVEN_UP)
    dresses = ((reference, answer), (f"${reference}$", answer), (f"${reference}$", f"${answer}$"))
    return rng.choices(dresses, (7, 2, 1))[0]
