"""Products: a ratio times powers, roots, sums and functions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

_ROOTS = (2, 3, 5, 6, 7, 10, 11, 15, 35)
_FUNCTIONS = ("\\sin", "\\cos", "\\ln")


@dataclass(frozen=True)
class _Factor:
    """A factor and the number in it: letter^number, sqrt(number letter), (letter + number), e^(number letter), or a
    function of number letter."""

    kind: str  # power | root | sum | e | a name of _FUNCTIONS
    number: int
    letter: str

    def written(self, rng: random.Random) -> str:
        number, letter = self.number, self.letter
        times = f"{'' if number == 1 else '-' if number == -1 else number}{letter}"
        if self.kind == "power":
            return letter if number == 1 else f"{letter}^{rng.choice((f'{number}', f'{{{number}}}'))}"
        if self.kind == "root":
            return f"\\sqrt{{{number}{letter}}}"
        if self.kind == "sum":
            sign = "-" if number < 0 else "+"
            ways = (f"({letter} {sign} {abs(number)})", f"({number} + {letter})")
            return rng.choice((*ways, f"({letter}{sign}{abs(number)})"))
        if self.kind == "e":
            return f"e^{{{times}}}"
        return rng.choice((f"{self.kind} {times}", f"{self.kind}({times})"))

    def other(self, rng: random.Random) -> _Factor:
        """Another factor that looks like this one."""
        if self.kind in ("\\sin", "\\cos") and rng.random() < 0.5:
            return replace(self, kind="\\cos" if self.kind == "\\sin" else "\\sin")
        if self.kind == "root":
            return replace(self, number=rng.choice([number for number in _ROOTS if number != self.number]))
        if self.kind in ("sum", "e") and rng.random() < 0.6:
            return replace(self, number=-self.number)
        return replace(self, number=self.number + 1 or 1)


def products(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same product in two writings, or a product and another one or a part of it.

    The writings differ in the order of factors, and in writing a ratio as a factor or as a divisor.
    """
    ratio = Fraction(rng.choice((-1, 1, 1, 1)) * rng.randint(1, 40), rng.choice((1, 1, 1, 2, 3, 4, 9, 18)))
    factors = [_factor(letter, rng) for letter in rng.sample(("x", "y", "a", "\\pi", "t"), rng.randint(1, 3))]
    if rng.random() < 0.3:
        factors.append(_Factor("root", rng.choice(_ROOTS), ""))
    other_ratio, others = ratio, list(factors)
    if not right:
        way, place = rng.random(), rng.randrange(len(factors))
        if way < 0.25 and ratio != 1:
            others = []  # the ratio alone
        elif way < 0.5 and len(factors) > 1:
            others.pop(place)
        elif way < 0.75:
            others[place] = factors[place].other(rng)
        else:
            other_ratio = rng.choice((-ratio, 1 / ratio if abs(ratio) != 1 else 2 * ratio, ratio + 1 or ratio + 2))
    return _product(ratio, factors, rng), _product(other_ratio, others, rng)


def _factor(letter: str, rng: random.Random) -> _Factor:
    kind = rng.choice(("power", "power", "root", "sum", "e", *_FUNCTIONS)) if letter != "\\pi" else "power"
    if kind == "root":
        return _Factor(kind, rng.choice(_ROOTS), letter)
    if kind in ("sum", "e"):
        return _Factor(kind, rng.choice((-1, 1)) * rng.randint(1, 5), letter)
    return _Factor(kind, rng.choice((1, 1, 2, 3)), letter)


def _product(ratio: Fraction, factors: Sequence[_Factor], rng: random.Random) -> str:
    """The product in LaTeX. Functions come last, so that no other factor is read as a part of their argument."""
    mixed = rng.sample(factors, len(factors))
    mixed.sort(key=lambda factor: factor.kind in _FUNCTIONS)
    texts = [factor.written(rng) for factor in mixed]
    above, below = abs(ratio.numerator), ratio.denominator
    body = rng.choice((" ", " ", " \\cdot ")).join(texts)
    whole = " ".join([f"{above}"] * (above > 1 or not texts) + [body] * bool(texts))
    fraction = rng.choice(("\\frac", "\\dfrac"))
    ways = [f"{fraction}{{{whole}}}{{{below}}}"]
    if body:
        ways.append(f"{fraction}{{{above}}}{{{below}}} {body}")
    text = whole if below == 1 else rng.choice(ways)
    if rng.random() < 0.6:
        text = re.sub(r" (?=[\\(])|(?<=\d) (?=[a-z])", "", text)
    return f"-{text}" if ratio < 0 else text
