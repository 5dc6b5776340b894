"""Answers invented for a question that has others: what VerifyRM must compare, whatever the question.

Each function gives the reference answer and a completion's answer, of which it is known whether they are the same: no
rule has to say so. A reward model that is shown them cannot rely on solving the problem itself.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

_UNITS = ("cm", "m", "km", "grams", "kg", "hours", "minutes", "days", "dollars", "square units", "m^2")
_FAMILIES = (
    *(("yes", "no"), ("True", "False"), ("proved", "disproved", "unknown"), ("valid", "invalid")),
    *(("true", "false", "uncertain"), ("always", "sometimes", "never"), ("increasing", "decreasing", "neither")),
    *(("necessary", "sufficient", "both", "neither"), ("Anna", "Boris", "Chen", "Dora"), ("finite", "infinite")),
    *(("red", "blue", "green", "gray", "white"), ("first", "second", "third", "fourth")),
)


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same number, list, interval or function in two writings, or two that look alike."""
    kind = rng.random()
    return (numbers if kind < 0.4 else lists if kind < 0.7 else intervals if kind < 0.87 else functions)(right, rng)


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
        names = rng.choice(("xyzw", "abcd", "mnpq"))
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


def functions(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): a polynomial in any order of terms, or with a term changed; its letter is free in f(x)."""
    terms = {power: rng.choice((-1, 1)) * rng.randint(1, 9) for power in rng.sample(range(4), rng.randint(1, 3))}
    other = dict(terms)
    if not right:
        power = rng.choice(list(terms))
        if rng.random() < 0.5:
            other[power] = -other[power]
        elif rng.random() < 0.6:
            other[power] += rng.choice((-2, -1, 1, 2)) if other[power] not in (-2, -1, 1, 2) else 3 * other[power]
        else:
            other[max(terms) + 1] = other.pop(power)
    letter, named = rng.choice("xxxxnt"), (rng.random() < 0.7, rng.random() < 0.6)
    free = rng.choice("xxnztu") if all(named) else letter
    return _function(terms, letter, rng, named=named[0]), _function(other, free, rng, named=named[1])


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
        name = rng.choice(_UNITS)
        unit = rng.choice((f" \\text{{ {name}}}", f" {name}"))
        return rng.choice(((reference + unit, answer + unit), (reference + unit, answer), (reference, answer + unit)))
    return reference, answer


def choices(question: str, texts: Sequence[str], right: bool, rng: random.Random) -> tuple[str, str, str]:
    """(question, reference, completion): the question as one of choice among `texts`, or among words such as yes or no.

    The completion's working may name other choices; what counts is the one that it ends with.
    """
    if rng.random() < 0.45:
        family = rng.choice(_FAMILIES)
        names, shown = list(family), [""] * len(family)
        question = f"{question}\nAnswer with one of: {', '.join(rng.sample(family, len(family)))}."
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


def closing(answer: str, rng: random.Random) -> str:
    """The last lines of a completion that gives this answer."""
    plain = answer.strip("$") if answer.count("$") == 2 else answer
    boxed = f"\\boxed{{{plain}}}"
    return rng.choice(
        (
            *(answer, boxed, f"$\\boxed{{{plain}}}$", f"**{answer}**", f"</think>\n\n{answer}"),
            *(f"The answer is {answer}.", f"Final Answer: The final answer is ${boxed}$", f"**Answer:** {answer}"),
            *(f"Therefore, the answer is **{answer}**.", f"So the correct answer is: \\[ {boxed} \\]"),
            *(f"Thus, we get {answer}.", f"The final answer is: ${boxed}$. I hope it is correct.", f"#### {answer}"),
            *(f"Hence the result is {boxed}.", f"**Final Answer**\n\\[ {boxed} \\]", f"Answer: {answer}"),
        )
    )


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


def _function(terms: dict[int, int], letter: str, rng: random.Random, *, named: bool) -> str:
    texts = []
    for power, factor in rng.sample(list(terms.items()), len(terms)):
        exponent = rng.choice((f"^{power}", f"^{{{power}}}")) if power > 1 else ""
        body = f"{letter}{exponent}" if power else ""
        size = "" if abs(factor) == 1 and body else str(abs(factor))
        texts.append((" - " if factor < 0 else " + ") + size + body)
    text = "".join(texts).removeprefix(" + ")
    text = f"-{text.removeprefix(' - ')}" if text.startswith(" - ") else text
    text = text.replace(" ", "") if rng.random() < 0.3 else text
    ways = (f"f({letter}) = {text}", f"f({letter})={text}", f"f({letter}) = {text} \\text{{ for all }} {letter}")
    return rng.choice(ways) if named else text


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
