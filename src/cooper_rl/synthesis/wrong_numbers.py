"""Wrong numbers that look like a right one: the only makers of them, each for what it is wrong in.

They differ in which numbers they choose and in what order they draw, and shipped weights and kept results rest on those
draws. What they share is how a number is taken apart and put together.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction

SLIPS = (-1, 1, -2, 2, -10, 10, -100, 100, 5, -9)  # in units of the last decimal
NEAR = (1, 2, 3, 5, 9, 10, 11, 20)
RAISES = (1, 2, 3, 10)
LONGEST = 9  # digits of a number that are raised
OTHER_WORDS = ("none of them", "7", "x + 1")  # wrong answers where there is no number to change


@dataclass(frozen=True)
class Numeral:
    """A written number: 2.50 is 250 units of 2 decimals."""

    units: int
    decimals: int = 0
    commas: bool = False  # between the thousands

    @classmethod
    def read(cls, text: str) -> Numeral:
        """From digits with a sign, commas and a point, where there are any."""
        digits = text.replace(",", "")
        decimals = len(digits.partition(".")[2])
        return cls(round(Fraction(digits) * 10**decimals), decimals, "," in text)

    def with_units(self, units: int) -> str:
        """Another number, written as this one is."""
        if self.decimals:
            return f"{units / 10**self.decimals:.{self.decimals}f}"
        return f"{units:,}" if self.commas else str(units)


def moved(number: str, rng: random.Random) -> str:
    """Another number with as many decimals: a digit off, a carry forgotten, a sign lost, two digits swapped."""
    right = Numeral.read(number)
    options = [right.units + slip for slip in SLIPS]
    digits = str(abs(right.units))
    if len(digits) > 1:
        options.append(int(digits[1] + digits[0] + digits[2:]) * (-1 if right.units < 0 else 1))
    if right.units:
        options.append(-right.units)
    return right.with_units(rng.choice([option for option in options if option != right.units]))


def near_miss(number: str, rng: random.Random) -> str:
    """Another number of like size and as many decimals; the nano worlds hedge with it."""
    right = Numeral.read(number)
    return right.with_units(right.units + rng.choice((-1, 1)) * rng.choice(NEAR))


def wrong_answer(reference_answer: str, rng: random.Random) -> str:
    """Another answer that looks like this one: its last digits raised, or a word where there are none."""
    numbers = list(re.finditer(r"\d+", reference_answer))
    if not numbers:
        return rng.choice([word for word in OTHER_WORDS if word != reference_answer])
    last = numbers[-1]
    raised = str(int(last.group()[-LONGEST:]) + rng.choice(RAISES))
    return reference_answer[: last.start()] + raised + reference_answer[last.end() :]
