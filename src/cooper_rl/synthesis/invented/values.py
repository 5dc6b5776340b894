"""Numbers: exact, rounded, in percent or with a unit, and the small numbers that the other kinds use."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from cooper_rl.synthesis.same_answer import UNITS


def numbers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same number in two writings, exact or rounded, or two numbers."""
    if right and rng.random() < 0.08:
        return _roughly_the_same(rng)
    value, exact = _value(rng)
    other_value, other_exact = value, exact
    while not right and _may_pass_for(other_value, value):
        other_value, other_exact = _near(value, exact, rng)
    reference = _number(value, exact, rng)
    for _ in range(8):
        answer = _number(other_value, other_exact, rng)
        if answer != reference:
            break
    if rng.random() < 0.35 and "%" not in reference + answer:
        name = rng.choice(UNITS)
        unit = rng.choice((f" \\text{{ {name}}}", f" {name}"))
        return rng.choice(((reference + unit, answer + unit), (reference + unit, answer), (reference, answer + unit)))
    return reference, answer


def small(rng: random.Random, apart_from: Sequence[Fraction] = (), near: Fraction | None = None) -> Fraction:
    """A small number for lists and intervals that is not in `apart_from`. With `near`, it looks like that number."""
    while True:
        found = Fraction(rng.randint(-12, 20), rng.choice((1, 1, 1, 2, 3, 4, 5)))
        if near is not None and rng.random() < 0.7:
            found = rng.choice((-near, near + rng.choice((-2, -1, 1, 2)), 1 / near if near else near))
        if found not in apart_from:
            return found


def small_text(number: Fraction, rng: random.Random, *, plain: bool = False) -> str:
    """The number in one of its writings; with `plain`, in the writing of a reference answer."""
    above, below = abs(number.numerator), number.denominator
    ways = [f"\\frac{{{above}}}{{{below}}}", f"{above}/{below}", f"\\dfrac{{{above}}}{{{below}}}"]
    ways += [f"{above / below:g}"] if below in (2, 4, 5) else []
    text = str(above) if below == 1 else ways[0] if plain else rng.choice(ways)
    return f"-{text}" if number < 0 else text


def _value(rng: random.Random) -> tuple[float, Callable[[random.Random], str]]:
    """(number, function that writes it exactly). The number is rarely whole."""
    kind = rng.random()
    if kind < 0.55:
        below = rng.choice((*range(2, 30), 36, 40, 50, 59, 64, 72, 99))
        ratio = Fraction(rng.randint(1, rng.choice((below, 6 * below, 60 * below))), below)
        return float(ratio), lambda rng: _ratio(ratio, rng)
    if kind < 0.75:
        decimals = rng.choice((0, 0, 1, 2, 3))
        ratio = Fraction(rng.randint(1, 10 ** rng.randint(2, 5)), 10**decimals)
        return float(ratio), lambda rng: _ratio(ratio, rng)
    count, below, root = rng.randint(1, 12), rng.choice((1, 1, 2, 3, 4, 5)), rng.choice((2, 3, 5, 6, 7, 10, 13))
    name, size = rng.choice(((f"\\sqrt{{{root}}}", math.sqrt(root)), ("\\pi", math.pi), ("e", math.e)))
    plus = rng.choice((0, 0, 1, -1, 2, 3))
    top = f"{count if count > 1 else ''}{name}" + (f" {'+' if plus > 0 else '-'} {abs(plus)}" if plus else "")
    text = top if below == 1 else f"\\frac{{{top}}}{{{below}}}"
    return (count * size + plus) / below, lambda rng: text


def _ratio(ratio: Fraction, rng: random.Random) -> str:
    above, below = ratio.numerator, ratio.denominator
    if below == 1:
        return rng.choice((f"{above}", f"{above:,}", f"{above}.0", f"{2 * above}/2"))
    whole, rest = divmod(above, below)
    ways = [f"\\frac{{{above}}}{{{below}}}", f"\\dfrac{{{above}}}{{{below}}}", f"{above}/{below}", f"{above}:{below}"]
    ways += [f"{whole}\\frac{{{rest}}}{{{below}}}", f"{whole} \\dfrac{{{rest}}}{{{below}}}"] * bool(whole)
    if 10**4 % below == 0:
        ways += [f"{float(ratio):g}"] * 3 if above < 10**5 else []
        ways += [f"{float(100 * ratio):g}\\%"] * 2 if ratio < 2 else []
    return rng.choice(ways)


def _number(value: float, exact: Callable[[random.Random], str], rng: random.Random) -> str:
    """A number written exactly, or rounded to three or more significant digits."""
    if rng.random() < 0.4:
        return exact(rng)
    if abs(value) < 2 and rng.random() < 0.3:
        return f"{100 * value:.{rng.choice((1, 2))}f}\\%"
    digits = max(rng.choice((0, 1, 2, 2, 3, 4)), 2 - math.floor(math.log10(abs(value))))
    return rng.choice(("", "", "", "\\approx ", "≈ ")) + f"{value:.{digits}f}"


def _roughly_the_same(rng: random.Random) -> tuple[str, str]:
    """A decimal, and the value that comes out if numbers are rounded on the way. Graders accept the two as the same."""
    value = round(rng.choice((1, 1, 10)) * rng.uniform(10, 100), rng.choice((1, 2)))
    percent = rng.choice(("", "", "", "\\%"))
    other = value * (1 + rng.choice((0, rng.uniform(-0.0015, 0.0015))))
    return f"{value}{percent}", f"{other:.{rng.choice((1, 1, 2)) if value < 100 else rng.choice((0, 1, 2))}f}{percent}"


def _may_pass_for(other: float, value: float) -> bool:
    """Whether one value is the other rounded, or its percentage. It is not known what a grader says of such a pair."""
    if any(abs(factor * other - value) <= 0.012 * abs(value) for factor in (0.01, 1, 100)):
        return True
    return any(
        f"{one:.1g}" == f"{two:.1g}" and math.isclose(one, float(f"{one:.1g}"))
        for one, two in ((value, other), (other, value))
    )


def _near(
    value: float, exact: Callable[[random.Random], str], rng: random.Random
) -> tuple[float, Callable[[random.Random], str]]:
    """Another number that looks like this one: with another digit or sign, or its inverse."""
    way = rng.random()
    if way < 0.1:
        return -value, lambda rng: f"-{exact(rng)}"
    if way < 0.2:
        other = Fraction(value).limit_denominator(1000) or Fraction(1)
        return float(1 / other), lambda rng: _ratio(1 / other, rng)
    ratio = Fraction(value).limit_denominator(rng.choice((9, 99, 999)))
    above = ratio.numerator + rng.choice((-10, -3, -2, -1, 1, 2, 3, 10, 100))
    below = ratio.denominator if rng.random() < 0.6 else ratio.denominator + rng.choice((1, 2, 3))
    changed = Fraction(abs(above) or 1, below)
    return float(changed), lambda rng: _ratio(changed, rng)
