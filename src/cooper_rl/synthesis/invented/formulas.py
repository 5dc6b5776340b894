"""Polynomials, families of angles, and products of a ratio with powers, roots, sums and functions."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from cooper_rl.synthesis.invented.values import small_text

_ROOTS = (2, 3, 5, 6, 7, 10, 11, 15, 35)
_FUNCTIONS = ("\\sin", "\\cos", "\\ln")


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
    polynomial = _Polynomial(_multiply_out(roots) if roots else factors, divisor, roots)
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


def _multiply_out(roots: Sequence[int]) -> dict[int, int]:
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
        return _Polynomial(_multiply_out(roots), divisor, roots)
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


@dataclass(frozen=True)
class _Factor:
    """A factor and the number in it: letter^number, sqrt(number letter), (letter + number), e^(number letter), or a
    function of number letter."""

    kind: str  # power | root | sum | e | a name of _FUNCTIONS
    number: int
    letter: str

    def write(self, rng: random.Random) -> str:
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
    texts = [factor.write(rng) for factor in mixed]
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
