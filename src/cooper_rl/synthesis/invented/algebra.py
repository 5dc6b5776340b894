"""Polynomials, and families of angles."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cooper_rl.synthesis.invented.values import small_text


def functions(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same polynomial in two writings, or two polynomials.

    The writings differ in the order of terms, in being multiplied out or not, and in how they write a divisor. In f(x)
    the letter may differ too.
    """
    factors = {
        power: rng.choice((-1, 1)) * rng.choice((1, 1, 1, *range(2, 10)))
        for power in rng.sample(range(4), rng.randint(1, 3))
    }
    roots = rng.sample([root for root in range(-6, 7) if root], 2) if rng.random() < 0.3 else None
    divisor = rng.choice((1, 1, 1, 1, 2, 3, 5, 6))
    polynomial = _Polynomial(_multiplied_out(roots) if roots else factors, divisor, roots)
    other = polynomial if right else _other_polynomial(polynomial, rng)
    letter, says_f = rng.choice("xxxxnt"), (rng.random() < 0.7, rng.random() < 0.6)
    free = rng.choice("xxnztu") if all(says_f) else letter
    return (
        _function(polynomial, letter, rng, named=says_f[0]),
        _function(other, free, rng, named=says_f[1]),
    )


def periodic(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same periodic angles, where the integer's letter may differ, or other angles."""
    period, below = rng.choice((1, 2)), rng.choice((3, 4, 5, 6))  # not 2: half a period is its own negative
    shift = rng.choice((-1, 1)) * Fraction(rng.choice((1, below - 1)), below)
    other = (period, shift) if right else rng.choice(((period, -shift), (3 - period, shift)))
    return _periodic(period, shift, rng), _periodic(*other, rng)


@dataclass(frozen=True)
class _Polynomial:
    """The sum of factors[power] * x ** power, over a divisor. `roots` are those of the sum if it is a product."""

    factors: Mapping[int, int]
    divisor: int = 1
    roots: Sequence[int] | None = None


def _multiplied_out(roots: Sequence[int]) -> dict[int, int]:
    """The factors of (x - first)(x - second)."""
    first, second = roots
    factors = {2: 1, 1: -first - second, 0: first * second}
    return {power: factor for power, factor in factors.items() if factor}


def _other_polynomial(polynomial: _Polynomial, rng: random.Random) -> _Polynomial:
    """Another polynomial: with another root, divisor, factor, sign or power, or a part of this one."""
    factors, divisor, roots = dict(polynomial.factors), polynomial.divisor, polynomial.roots
    power, way = rng.choice(list(factors)), rng.random()
    if roots and way < 0.5:
        steps = [step for step in (-2, -1, 1, 2) if step not in (-roots[0], roots[1] - roots[0])]
        roots = [roots[0] + rng.choice(steps), roots[1]]
        return _Polynomial(_multiplied_out(roots), divisor, roots)
    if divisor > 1 and way < 0.7:
        return _Polynomial(factors, divisor + rng.choice((1, 2)), roots)
    if way < 0.2 and len(factors) > 1:
        del factors[power]
    elif way < 0.5:
        factors[power] = -factors[power]
    elif way < 0.8:
        factors[power] += rng.choice([step for step in (-2, -1, 1, 2) if step != -factors[power]])
    else:
        factors[max(polynomial.factors) + 1] = factors.pop(power)
    return _Polynomial(factors, divisor)


def _function(polynomial: _Polynomial, letter: str, rng: random.Random, *, named: bool) -> str:
    divisor = polynomial.divisor
    if polynomial.roots and rng.random() < 0.5:
        text = "".join(f"({letter} {'+' if root < 0 else '-'} {abs(root)})" for root in polynomial.roots)
    elif divisor > 1 and rng.random() < 0.4:
        text, divisor = _sum(polynomial.factors, divisor, letter, rng), 1
    else:
        text = _sum(polynomial.factors, 1, letter, rng)
    if divisor > 1:
        fractions = (f"\\frac{{{text}}}{{{divisor}}}", f"\\dfrac{{{text}}}{{{divisor}}}")
        text = rng.choice((*fractions, f"\\frac{{1}}{{{divisor}}}({text})", f"({text})/{divisor}"))
    text = text.replace(" ", "") if rng.random() < 0.3 else text
    ways = (f"f({letter}) = {text}", f"f({letter})={text}", f"f({letter}) = {text} \\text{{ for all }} {letter}")
    return rng.choice(ways) if named else text


def _sum(factors: Mapping[int, int], divisor: int, letter: str, rng: random.Random) -> str:
    """The terms in any order, each over the divisor."""
    texts = []
    for power, factor in rng.sample(list(factors.items()), len(factors)):
        exponent = rng.choice((f"^{power}", f"^{{{power}}}")) if power > 1 else ""
        body, size = f"{letter}{exponent}" if power else "", Fraction(abs(factor), divisor)
        text = "" if size == 1 and body else small_text(size, rng, plain=True)
        texts.append((" - " if factor < 0 else " + ") + text + body)
    text = "".join(texts).removeprefix(" + ")
    return f"-{text.removeprefix(' - ')}" if text.startswith(" - ") else text


def _periodic(period: int, shift: Fraction, rng: random.Random) -> str:
    """The text of k periods plus a shift. Both are given in units of pi."""
    letter, above, sign = rng.choice("kknm"), abs(shift.numerator), "-" if shift < 0 else "+"
    angle = f"\\frac{{{above if above > 1 else ''}\\pi}}{{{shift.denominator}}}"
    times = f"{period if period > 1 else ''}{letter}\\pi"
    text = rng.choice((f"{times} {sign} {angle}", f"{sign.removeprefix('+')}{angle} + {times}"))
    ways = (text, f"x = {text}", f"x = {text}, {letter} \\in \\mathbb{{Z}}", f"{text} ({letter} \\in \\mathbb{{Z}})")
    return rng.choice(ways)
