"""Answers invented for a question that has others: what VerifyRM must compare, whatever the question.

Each function gives the reference answer and a completion's answer, of which it is known whether they are the same: no
rule has to say so. A reward model that is shown them cannot rely on solving the problem itself.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cooper_rl.verifyrm.other_answer import FAMILIES
from cooper_rl.verifyrm.same_answer import UNITS
from cooper_rl.verifyrm.writings import closing

_NOUNS = (
    *("apples", "boys", "girls", "goats", "red balls", "hours", "minutes", "coins", "children", "adults", "old books"),
    *("chocolate bars", "large boxes", "white rabbits", "men", "women", "tickets", "cars", "bicycles"),
)
_NAMES = (
    *("xyzw", "abcd", "mnpq", "ABCD", ("maximum", "minimum", "mean", "median"), ("x_1", "x_2", "x_3", "x_4")),
    *(("f(1)", "f(2)", "f(3)", "f(4)"), ("Anna", "Boris", "Chen", "Dora"), ("first", "second", "third", "fourth")),
)


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same thing in two writings, or two things that look alike."""
    kinds = (numbers, lists, intervals, functions, counts, periodic)
    reference, answer = rng.choices(kinds, (32, 24, 15, 15, 8, 6))[0](right, rng)
    dresses = ((reference, answer), (f"${reference}$", answer), (f"${reference}$", f"${answer}$"))
    return rng.choices(dresses, (7, 2, 1))[0]


def lists(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): several numbers, or points, in any order; or one changed, left out or too many."""
    count = rng.choice((2, 2, 3, 3, 4))
    width = 1 if rng.random() < 0.7 else rng.choice((2, 2, 3))
    groups = rng.sample([tuple(_small(rng) for _ in range(width)) for _ in range(4 * count)], count)
    groups = list(dict.fromkeys(groups))
    reference = rng.choice((", ", ",")).join(_group(group, rng, plain=True) for group in groups)
    said, used = list(groups), [number for group in groups for number in group]
    if not right:
        way, place = rng.random(), rng.randrange(len(said))
        if way < 0.2 and len(said) > 1:
            said.pop(place)
        elif way < 0.3:
            said.append(tuple(_small(rng, apart_from=used) for _ in range(width)))
        else:
            changed, at = list(said[place]), rng.randrange(width)
            changed[at] = _small(rng, apart_from=used, near=changed[at])
            said[place] = tuple(changed)
    if width == 1 and len(said) == count and rng.random() < 0.25:  # with names, in the reference's order
        names = rng.choice(_NAMES)
        return reference, ", ".join(f"{n} = {_group(g, rng)}" for n, g in zip(names, said, strict=False))
    rng.shuffle(said)
    texts = [_group(group, rng) for group in said]
    if rng.random() < 0.3 and len(texts) > 1:
        word = rng.choice((" and ", " \\text{ and } ", " \\text{ or } "))
        return reference, f"{', '.join(texts[:-1])}{word}{texts[-1]}"
    text = rng.choice((", ", ", ", ",", ",\\ ")).join(texts)
    return reference, f"\\{{{text}\\}}" if rng.random() < 0.4 else text


def intervals(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): an interval as brackets, inequality or set; or with another end, bracket or side."""
    first = _small(rng)
    low, high = sorted((first, _small(rng, apart_from=[first])))
    ends: tuple[Fraction | None, Fraction | None] = rng.choice(((low, high), (low, high), (None, high), (low, None)))
    closed = (rng.random() < 0.5 and ends[0] is not None, rng.random() < 0.5 and ends[1] is not None)
    other, other_closed = ends, closed
    if not right:
        side = rng.choice([index for index in (0, 1) if ends[index] is not None])
        way = rng.random()
        if way < 0.35:
            other_closed = (not closed[0], closed[1]) if side == 0 else (closed[0], not closed[1])
        elif way < 0.6 and None in ends:
            other, other_closed = (ends[1], ends[0]), (closed[1], closed[0])
        else:
            moved = _small(rng, apart_from=[low, high], near=ends[side])
            other = (moved, ends[1]) if side == 0 else (ends[0], moved)
            if other[0] is not None and other[1] is not None and other[1] < other[0]:
                other = (other[1], other[0])
    return _interval(ends, closed, rng), _interval(other, other_closed, rng)


def counts(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): counts of things, or values of names, in any order; or with a value changed or exchanged."""
    names = rng.choice(_NAMES) if rng.random() < 0.5 else None
    things = rng.sample(names or _NOUNS, rng.randint(2, 3))
    values = rng.sample(range(1, 80), len(things))
    said = list(values)
    if not right and rng.random() < 0.5:
        said[:2] = reversed(said[:2])
    elif not right:
        said[-1] = rng.choice([number for number in range(1, 80) if number not in values])

    def written(values: Sequence[int]) -> str:
        thing = rng.choice(("{0} = {1}", "{0}={1}", "{0}: {1}") if names else ("{1} {0}", "{1} \\text{{ {0}}}"))
        parts = [thing.format(name, value) for name, value in zip(things, values, strict=True)]
        rng.shuffle(parts)
        last = rng.choice((", ", ", ", " and ", " \\text{ and } "))
        return f"{', '.join(parts[:-1])}{last}{parts[-1]}"

    return written(values), written(said)


def periodic(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): angles that come again and again, the integer's letter being free; or others."""
    period, below = rng.choice((1, 2)), rng.choice((3, 4, 5, 6))  # halves would be their own negatives
    shift = rng.choice((-1, 1)) * Fraction(rng.choice((1, below - 1)), below)
    other = (period, shift) if right else rng.choice(((period, -shift), (3 - period, shift)))
    return _periodic(period, shift, rng), _periodic(*other, rng)


def functions(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): a polynomial, its terms in any order, multiplied out or not, over a divisor or not; or
    another one. Its letter is free in f(x)."""
    factors = {power: rng.choice((-1, 1)) * rng.randint(1, 9) for power in rng.sample(range(4), rng.randint(1, 3))}
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


def numbers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): a number and the same one in another writing, exact or rounded, or another number."""
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


def choices(question: str, texts: Sequence[str], right: bool, rng: random.Random) -> tuple[str, str, str]:
    """(question, reference, completion): the question as one of choice among `texts`, or among words such as yes or no.

    The completion's working may name other choices; what counts is the one that it ends with.
    """
    if rng.random() < 0.45:
        family = rng.choice(FAMILIES)
        names = rng.sample(family, min(len(family), 5))
        shown = [""] * len(names)
        question = f"{question}\nAnswer with one of: {', '.join(names)}."
    else:
        names = list("ABCDEFGHIJK"[: len(texts)])
        shown = list(texts)
        form = rng.choice(("({}) {}", "{}. {}", "{}: {}"))
        question = "\n".join([question, *(form.format(name, text) for name, text in zip(names, shown, strict=True))])
    true = rng.randrange(len(names))
    said = true if right else rng.choice([index for index in range(len(names)) if index != true])
    reference = _chosen(names[true], shown[true], rng)
    completion = closing(_chosen(names[said], shown[said], rng), rng)
    if rng.random() < 0.6:
        completion = f"{_weighed([name for name in names if name != names[said]], rng)} {completion}"
    return question, reference, completion


def after_working(text: str, workings: Sequence[str], rng: random.Random) -> str:
    """A text after some of another's working, which need not lead to it."""
    words = rng.choice(workings).split()
    length = rng.randint(8, 60)
    start = rng.randrange(max(1, len(words) - length + 1))
    return f"{' '.join(words[start : start + length])} {text}"


def without_answer(completion: str) -> str:
    """A completion up to where it begins to state its answer."""
    return re.split(r"\\boxed|####|[Aa]nswer|[Tt]herefore|[Tt]hus|Hence", completion, maxsplit=1)[0].rstrip(" $*#\n[(")


def _small(rng: random.Random, apart_from: Sequence[Fraction] = (), near: Fraction | None = None) -> Fraction:
    """A number as lists and intervals have them, another than those; `near`: one that looks like this."""
    while True:
        found = Fraction(rng.randint(-12, 20), rng.choice((1, 1, 1, 2, 3, 4, 5)))
        if near is not None and rng.random() < 0.7:
            found = rng.choice((-near, near + rng.choice((-2, -1, 1, 2)), 1 / near if near else near))
        if found not in apart_from:
            return found


def _small_text(number: Fraction, rng: random.Random, *, plain: bool = False) -> str:
    above, below = abs(number.numerator), number.denominator
    ways = [f"\\frac{{{above}}}{{{below}}}", f"{above}/{below}", f"\\dfrac{{{above}}}{{{below}}}"]
    ways += [f"{above / below:g}"] if below in (2, 4, 5) else []
    text = str(above) if below == 1 else ways[0] if plain else rng.choice(ways)
    return f"-{text}" if number < 0 else text


def _group(group: Sequence[Fraction], rng: random.Random, *, plain: bool = False) -> str:
    texts = [_small_text(number, rng, plain=plain) for number in group]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _interval(ends: tuple[Fraction | None, Fraction | None], closed: tuple[bool, bool], rng: random.Random) -> str:
    low, high = (None if end is None else _small_text(end, rng) for end in ends)
    letter = rng.choice("xxxatkm")
    less = [rng.choice(("\\leq", "\\le", "≤", "\\leqslant")) if shut else "<" for shut in closed]
    more = rng.choice(("\\geq", "\\ge", "≥")) if closed[0] else ">"
    if low is None:
        inequality = f"{letter} {less[1]} {high}"
    elif high is None:
        inequality = f"{letter} {more} {low}"
    else:
        inequality = f"{low} {less[0]} {letter} {less[1]} {high}"
    low, high = low or "-\\infty", high or rng.choice(("\\infty", "+\\infty"))
    bracket = f"{'[' if closed[0] else '('}{low}, {high}{']' if closed[1] else ')'}"
    return rng.choice(
        (bracket, bracket, f"{letter} \\in {bracket}", inequality, inequality, f"\\{{{letter} | {inequality}\\}}")
    )


@dataclass(frozen=True)
class _Polynomial:
    """The sum of factors[power] * x ** power, over a divisor; `roots`: of the sum, where it is a product."""

    factors: Mapping[int, int]
    divisor: int = 1
    roots: Sequence[int] | None = None


def _multiplied_out(roots: Sequence[int]) -> dict[int, int]:
    """The factors of (x - first)(x - second)."""
    first, second = roots
    factors = {2: 1, 1: -first - second, 0: first * second}
    return {power: factor for power, factor in factors.items() if factor}


def _other_polynomial(polynomial: _Polynomial, rng: random.Random) -> _Polynomial:
    """Another one: a root, the divisor, a factor, its sign or its power changed."""
    factors, divisor, roots = dict(polynomial.factors), polynomial.divisor, polynomial.roots
    power, way = rng.choice(list(factors)), rng.random()
    if roots and way < 0.5:
        steps = [step for step in (-2, -1, 1, 2) if step not in (-roots[0], roots[1] - roots[0])]
        roots = [roots[0] + rng.choice(steps), roots[1]]
        return _Polynomial(_multiplied_out(roots), divisor, roots)
    if divisor > 1 and way < 0.7:
        return _Polynomial(factors, divisor + rng.choice((1, 2)), roots)
    if way < 0.5:
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
        text = "" if size == 1 and body else _small_text(size, rng, plain=True)
        texts.append((" - " if factor < 0 else " + ") + text + body)
    text = "".join(texts).removeprefix(" + ")
    return f"-{text.removeprefix(' - ')}" if text.startswith(" - ") else text


def _periodic(period: int, shift: Fraction, rng: random.Random) -> str:
    """k periods of pi and a shift, in units of pi."""
    letter, above, sign = rng.choice("kknm"), abs(shift.numerator), "-" if shift < 0 else "+"
    angle = f"\\frac{{{above if above > 1 else ''}\\pi}}{{{shift.denominator}}}"
    times = f"{period if period > 1 else ''}{letter}\\pi"
    text = rng.choice((f"{times} {sign} {angle}", f"{sign.removeprefix('+')}{angle} + {times}"))
    ways = (text, f"x = {text}", f"x = {text}, {letter} \\in \\mathbb{{Z}}", f"{text} ({letter} \\in \\mathbb{{Z}})")
    return rng.choice(ways)


def _value(rng: random.Random) -> tuple[float, Callable[[random.Random], str]]:
    """A number that is seldom whole, and what writes it exactly."""
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
    """A number exactly, or rounded to three significant digits or more."""
    if rng.random() < 0.4:
        return exact(rng)
    if abs(value) < 2 and rng.random() < 0.3:
        return f"{100 * value:.{rng.choice((1, 2))}f}\\%"
    digits = max(rng.choice((0, 1, 2, 2, 3, 4)), 2 - math.floor(math.log10(abs(value))))
    return rng.choice(("", "", "", "\\approx ", "≈ ")) + f"{value:.{digits}f}"


def _may_pass_for(other: float, value: float) -> bool:
    """Whether one is a rounding of the other, or its percentage: nobody knows what a grader would say of the two."""
    if any(abs(factor * other - value) <= 0.012 * abs(value) for factor in (0.01, 1, 100)):
        return True
    return any(
        f"{one:.1g}" == f"{two:.1g}" and math.isclose(one, float(f"{one:.1g}"))
        for one, two in ((value, other), (other, value))
    )


def _near(
    value: float, exact: Callable[[random.Random], str], rng: random.Random
) -> tuple[float, Callable[[random.Random], str]]:
    """Another number that looks like this one: a digit of its writing changed, or its sign, or upside down."""
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


def _chosen(name: str, text: str, rng: random.Random) -> str:
    """A choice as it is referred to: its letter, with its text or without; a word as it stands."""
    if not text:
        return rng.choice((name, name, name.lower(), name.capitalize(), f"\\text{{{name}}}"))
    return rng.choice(
        (name, name, f"({name})", f"({name})", f"\\text{{{name}}}", f"{name}. {text}", f"({name}) {text}")
    )


def _weighed(others: Sequence[str], rng: random.Random) -> str:
    """Working that speaks of the other choices."""
    return " ".join(
        rng.choice(
            (
                "At first {} looks right, but it does not follow.",
                "Let us check {}: it fails.",
                "{} would need more than what is given.",
                "If it were {}, the condition would not hold.",
                "Hmm, maybe {}? No.",
                "It cannot be {}.",
            )
        ).format(other)
        for other in rng.sample(others, min(len(others), rng.randint(1, 3)))
    )
