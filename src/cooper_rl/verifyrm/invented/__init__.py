"""Answers invented for a question that has others: what VerifyRM must compare, whatever the question.

Each kind gives the reference answer and a completion's answer, of which it is known whether they are the same: no rule
has to say so. A reward model that is shown them cannot rely on solving the problem itself.
"""

from __future__ import annotations

import random

from cooper_rl.verifyrm.invented.algebra import functions, periodic
from cooper_rl.verifyrm.invented.sets import counts, intervals, lists
from cooper_rl.verifyrm.invented.texts import after_working, choices, without_answer
from cooper_rl.verifyrm.invented.values import numbers

__all__ = ["after_working", "answers", "choices", "without_answer"]


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same thing in two writings, or two things that look alike."""
    kinds = (numbers, lists, intervals, functions, counts, periodic)
    reference, answer = rng.choices(kinds, (32, 24, 15, 15, 8, 6))[0](right, rng)
    dresses = ((reference, answer), (f"${reference}$", answer), (f"${reference}$", f"${answer}$"))
    return rng.choices(dresses, (7, 2, 1))[0]
