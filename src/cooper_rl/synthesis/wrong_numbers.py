"""Makes wrong numbers that look like a right one: alone, in an answer, and in a completion whose later results follow.

The functions share how a number is read and written. They differ in the numbers that they choose and in the order of
their random draws. These must not change, since shipped weights and published results depend on them.
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
_NUMBER = r"-?\d+(?:\.\d+)?"
_EQUATION = re.compile(
    rf"(?P<a>{_NUMBER}) ?(?P<op>[-+*/x]) ?(?P<b>{_NUMBER})(?P<unit>[^=.\d]{{0,30}})= ?(?P<c>{_NUMBER})"
)
_ANY = re.compile(r"(?<![\d.,])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\d.])-?\d+(?:\.\d+)?")


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


def move(number: str, rng: random.Random) -> str:
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


def perturb(completion: str, rng: random.Random) -> str | None:
    """The completion with one number made wrong; None if it has no number.

    If there is an equation, its result is changed. Each later equation that uses the result is computed anew, so that
    the wrong answer follows from the mistake. Without an equation, the last number is changed.
    """
    equations = list(_EQUATION.finditer(completion))
    if not equations or rng.random() < 0.3:
        return _change_last(completion, rng)
    slip = rng.choice(equations)
    changed = {slip["c"]: move(slip["c"], rng)}
    head, tail = completion[: slip.start("c")], completion[slip.start("c") :]
    out, position = [head], 0
    for equation in _EQUATION.finditer(tail):
        out.append(_replace(tail[position : equation.start()], changed))
        old = equation.group()
        new = _replace(old[: equation.start("c") - equation.start()], changed)
        result = _work_out(new) if new != old[: len(new)] else None
        if result is not None and result != equation["c"]:
            changed[equation["c"]] = result
        out.append(new + changed.get(equation["c"], equation["c"]))
        position = equation.end()
    out.append(_replace(tail[position:], changed))
    text = "".join(out)
    return text if text != completion else _change_last(completion, rng)


def figures(text: str) -> list[str]:
    """The numbers of a text, as they are written."""
    return [found.group() for found in _ANY.finditer(text)]


def _change_last(completion: str, rng: random.Random) -> str | None:
    numbers = list(_ANY.finditer(completion))
    if not numbers:
        return None
    last = numbers[-1].group()
    return _replace(completion, {last: move(last, rng)})


def _replace(text: str, changed: dict[str, str]) -> str:
    return _ANY.sub(lambda found: changed.get(found.group(), found.group()), text)


def _work_out(left_side: str) -> str | None:
    found = re.search(rf"({_NUMBER}) ?([-+*/x]) ?({_NUMBER})[^=\d]*= ?$", left_side)
    if not found:
        return None
    a, op, b = Fraction(found[1]), found[2], Fraction(found[3])
    if op == "/" and b == 0:
        return None
    value = {"+": a + b, "-": a - b, "*": a * b, "x": a * b}.get(op) if op != "/" else a / b
    if value is None:
        return None
    return str(value) if value.denominator == 1 else f"{float(value):.10g}"
