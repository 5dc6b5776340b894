"""Numbers, exact, rounded, in percent or with a unit; and lists, intervals, counts and orders of several."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from cooper_rl.synthesis.rewrite import FAMILIES
from cooper_rl.synthesis.same_answer import UNITS

_NOUNS = (
    *("apples", "boys", "girls", "goats", "red balls", "hours", "minutes", "coins", "children", "adults", "old books"),
    *("chocolate bars", "large boxes", "white rabbits", "men", "women", "tickets", "cars", "bicycles"),
)
_NAMES = (
    *("xyzw", "abcd", "mnpq", "ABCD", ("maximum", "minimum", "mean", "median"), ("x_1", "x_2", "x_3", "x_4")),
    *(("f(1)", "f(2)", "f(3)", "f(4)"), ("Anna", "Boris", "Chen", "Dora"), ("first", "second", "third", "fourth")),
)


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


def lists(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same numbers or points in any order, or with one changed, left out or added."""
    count = rng.choice((2, 2, 3, 3, 4))
    width = 1 if rng.random() < 0.7 else rng.choice((2, 2, 3))
    groups = rng.sample([tuple(small(rng) for _ in range(width)) for _ in range(4 * count)], count)
    groups = list(dict.fromkeys(groups))
    reference = rng.choice((", ", ",")).join(_group(group, rng, plain=True) for group in groups)
    said, used = list(groups), [number for group in groups for number in group]
    if not right:
        way, place = rng.random(), rng.randrange(len(said))
        if way < 0.2 and len(said) > 1:
            said.pop(place)
        elif way < 0.3:
            said.append(tuple(small(rng, apart_from=used) for _ in range(width)))
        else:
            changed, at = list(said[place]), rng.randrange(width)
            changed[at] = small(rng, apart_from=used, near=changed[at])
            said[place] = tuple(changed)
    if width == 1 and len(said) == count and rng.random() < 0.25:  # give each item a name, in the reference's order
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
    """(reference, answer): the same interval as brackets, inequality or set, or with another end, bracket or side."""
    first = small(rng)
    low, high = sorted((first, small(rng, apart_from=[first])))
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
            moved = small(rng, apart_from=[low, high], near=ends[side])
            other = (moved, ends[1]) if side == 0 else (ends[0], moved)
            if other[0] is not None and other[1] is not None and other[1] < other[0]:
                other = (other[1], other[0])
    return _interval(ends, closed, rng), _interval(other, other_closed, rng)


def counts(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same counts or named values in any order, or with values changed or exchanged."""
    names = rng.choice(_NAMES) if rng.random() < 0.5 else None
    things = rng.sample(names or _NOUNS, rng.randint(2, 3))
    values = rng.sample(range(1, 80), len(things))
    said = list(values)
    if not right and rng.random() < 0.5:
        said[:2] = reversed(said[:2])
    elif not right:
        said[-1] = rng.choice([number for number in range(1, 80) if number not in values])

    def write(values: Sequence[int]) -> str:
        thing = rng.choice(("{0} = {1}", "{0}={1}", "{0}: {1}") if names else ("{1} {0}", "{1} \\text{{ {0}}}"))
        parts = [thing.format(name, value) for name, value in zip(things, values, strict=True)]
        rng.shuffle(parts)
        last = rng.choice((", ", ", ", " and ", " \\text{ and } "))
        return f"{', '.join(parts[:-1])}{last}{parts[-1]}"

    return write(values), write(said)


def orders(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same list with a fixed order, or two items exchanged, or one replaced or left out."""
    things = rng.choice([_NOUNS, *(family for family in (*_NAMES, *FAMILIES) if len(family) > 3)])
    pool = rng.sample(things, len(things)) if rng.random() < 0.7 else [str(n) for n in rng.sample(range(-9, 40), 8)]
    items = pool[: rng.randint(3, min(7, len(pool)))]
    said = list(items)
    if not right:
        first, second = rng.sample(range(len(said)), 2)
        if len(pool) > len(items) and rng.random() < 0.3:
            said[first] = pool[-1]
        elif rng.random() < 0.2:
            said.pop(first)
        else:
            said[first], said[second] = said[second], said[first]
    comma, inner = rng.choice((", ", ",", ",\\ ")), rng.choice(("{}", "{}", "{}", "'{}'"))
    text = comma.join(inner.format(item) for item in said)
    return f"[{', '.join(items)}]", rng.choice((f"[{text}]", f"[{text}]", text))


def _group(group: Sequence[Fraction], rng: random.Random, *, plain: bool = False) -> str:
    texts = [small_text(number, rng, plain=plain) for number in group]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _interval(ends: tuple[Fraction | None, Fraction | None], closed: tuple[bool, bool], rng: random.Random) -> str:
    low, high = (None if end is None else small_text(end, rng) for end in ends)
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
