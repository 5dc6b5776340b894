"""Several answers at once: lists, with or without a fixed order, intervals, counts of things."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from cooper_rl.synthesis.invented.values import small, small_text
from cooper_rl.synthesis.other_answer import FAMILIES

_NOUNS = (
    *("apples", "boys", "girls", "goats", "red balls", "hours", "minutes", "coins", "children", "adults", "old books"),
    *("chocolate bars", "large boxes", "white rabbits", "men", "women", "tickets", "cars", "bicycles"),
)
_NAMES = (
    *("xyzw", "abcd", "mnpq", "ABCD", ("maximum", "minimum", "mean", "median"), ("x_1", "x_2", "x_3", "x_4")),
    *(("f(1)", "f(2)", "f(3)", "f(4)"), ("Anna", "Boris", "Chen", "Dora"), ("first", "second", "third", "fourth")),
)


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

    def written(values: Sequence[int]) -> str:
        thing = rng.choice(("{0} = {1}", "{0}={1}", "{0}: {1}") if names else ("{1} {0}", "{1} \\text{{ {0}}}"))
        parts = [thing.format(name, value) for name, value in zip(things, values, strict=True)]
        rng.shuffle(parts)
        last = rng.choice((", ", ", ", " and ", " \\text{ and } "))
        return f"{', '.join(parts[:-1])}{last}{parts[-1]}"

    return written(values), written(said)


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
