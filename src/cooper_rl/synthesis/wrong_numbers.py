"""Makes wrong numbers that look like a right one, for perturbed completions, the nano worlds and wrong answers.

The three functions share how a number is read and written. They differ in the numbers that they choose and in the order
of their random draws. These must not change, since shipped weights and published results depend on them.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction

SLIPS = (-1, 1, -2, 2, -10, 10, -100, 100, 5, -9)  # errors in units of the last decimal
NEAR = (1, 2, 3, 5, 9, 10, 11, 20)
RAISES = (1, 2, 3, 10)
LONGEST = 9  # at most this many of a number's last digits are raised
OTHER_WORDS = ("none of them", "7", "x + 1")  # wrong answers where there is no number to change


@dataclass(frozen=True)
class Numeral:
    """A written number: 2.50 has 250 units and 2 decimals."""

    units: int
    decimals: int = 0
    commas: bool = False  # whether there are commas between the thousands

    @classmethod
    def read(cls, text: str) -> Numeral:
        """Reads digits, with or without a sign, commas and a decimal point."""
        digits = text.replace(",", "")
        decimals = len(digits.partition(".")[2])
        return cls(round(Fraction(digits) * 10**decimals), decimals, "," in text)

    def with_units(self, units: int) -> str:
        """Another number in the same writing."""
        if self.decimals:
            return f"{units / 10**self.decimals:.{self.decimals}f}"
        return f"{units:,}" if self.commas else str(units)


def moved(number: str, rng: random.Random) -> str:
    """Another number with as many decimals: a wrong digit, a forgotten carry, a lost sign or two digits swapped."""
    right = Numeral.read(number)
    options = [right.units + slip for slip in SLIPS]
    digits = str(abs(right.units))
    if len(digits) > 1:
        options.append(int(digits[1] + digits[0] + digits[2:]) * (-1 if right.units < 0 else 1))
    if right.units:
        options.append(-right.units)
    return right.with_units(rng.choice([option for option in options if option != right.units]))


def near_miss(number: str, rng: random.Random) -> str:
    """Another number of similar size with as many decimals. The nano worlds use it for wrong and hedged answers."""
    right = Numeral.read(number)
    return right.with_units(right.units + rng.choice((-1, 1)) * rng.choice(NEAR))


def wrong_answer(reference_answer: str, rng: random.Random) -> str:
    """Another answer that looks like this one, with its last digits raised; without digits, a fixed wrong answer."""
    numbers = list(re.finditer(r"\d+", reference_answer))
    if not numbers:
        return rng.choice([word for word in OTHER_WORDS if word != reference_answer])
    last = numbers[-1]
    raised = str(int(last.group()[-LONGEST:]) + rng.choice(RAISES))
    return reference_answer[: last.start()] + raised + reference_answer[last.end() :]
