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
