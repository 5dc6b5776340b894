"""How the nano world's demonstrations answer: a mixture of ways to work, and of forms to state the answer in.

The ways differ in quality (a worked solution is right more often than a guess), so reinforcement learning has something
to select. The forms are those that real models use; some of them plain math-verify misses.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from cooper_rl.records import Problem
from cooper_rl.verifiers.math.numerals import ONES, TENS

WAYS = {"steps": 0.30, "last_step": 0.20, "direct": 0.30, "hedged": 0.20}
FORMS = {
    "boxed": 0.18,
    "plain": 0.16,
    "hash": 0.08,
    "unit": 0.12,
    "words": 0.16,
    "aside": 0.12,
    "sentence": 0.10,
    "ratio": 0.08,
}
BLANKS = ("", "The answer is.", "So it is.", "\\boxed{}", "####")
HEDGE = re.compile(r"\bor\b|\bmaybe\b|\bcould be\b")  # words of a completion that names several answers
_WORD_OF = {value: word for word, value in (ONES | TENS).items()}


def number_words(text: str) -> str | None:
    """`25` as `twenty-five`, `1.6` as `one point six`; None for what is rarely written out (100 and more)."""
    if text.startswith("-"):
        words = number_words(text[1:])
        return words and f"minus {words}"
    whole, _, decimals = text.partition(".")
    if int(whole) >= 100 or len(decimals) > 1:
        return None
    tens, ones = divmod(int(whole), 10)
    words = _WORD_OF[int(whole)] if tens < 2 or not ones else f"{_WORD_OF[10 * tens]}-{_WORD_OF[ones]}"
    return f"{words} point {_WORD_OF[int(decimals)]}" if decimals else words


def unit_of(problem: Problem, value: str) -> str:
    """The noun after the final result in the worked solution, or nothing."""
    found = re.search(rf"= {re.escape(value)} ([a-z]+)", str(problem.metadata["steps"][-1]))
    return f" {found.group(1)}" if found else ""


def marked_answer(value: str, form: str, rng: random.Random) -> str | None:
    """The value in the two forms that every world has, `boxed` and `hash`; None for the others."""
    if form == "boxed":
        return rng.choice([f"\\boxed{{{value}}}", f"So the answer is \\boxed{{{value}}}."])
    return f"#### {value}" if form == "hash" else None


def state_answer(problem: Problem, value: str, form: str, rng: random.Random) -> str:
    """The closing statement of `value` in a form; a form that does not fit the value becomes a plain one."""
    if marked := marked_answer(value, form, rng):
        return marked
    if form == "unit":
        return f"So it is {grouped(value)}{unit_of(problem, value)}."
    if form == "words" and number_words(value):
        return rng.choice([f"The answer is {number_words(value)}.", f"So it is {number_words(value)}."])
    if form == "aside":
        sure, count = rng.choice((80, 90, 95)), rng.randint(1, 3)
        return rng.choice([f"That makes {value}. I am {sure}% sure.", f"It is {value}, in {count} steps."])
    if form == "sentence":
        given = re.findall(r"\d+(?:\.\d+)?", problem.question)
        return f"{grouped(value)} is what we get from {' and '.join(given[:2])}."
    if form == "ratio" and "." in value:
        fraction = Fraction(value)
        percent = f"{fraction * 100}%" if (fraction * 100).denominator == 1 else str(fraction)
        return f"The answer is {rng.choice([str(fraction), percent])}."
    return f"The answer is {grouped(value) if form == 'ratio' else value}."


def grouped(value: str) -> str:
    """Thousands separators, where there are thousands."""
    whole, dot, decimals = value.partition(".")
    return f"{int(whole):,}{dot}{decimals}" if abs(int(whole)) >= 1000 else value


def near_miss(value: str, rng: random.Random) -> str:
    """Another number of like size and as many decimals."""
    decimals = len(value.partition(".")[2])
    scaled = round(float(value) * 10**decimals)
    moved = scaled + rng.choice((-1, 1)) * rng.choice((1, 2, 3, 5, 9, 10, 11, 20))
    return f"{moved / 10**decimals:.{decimals}f}" if decimals else str(moved)


def reference_value(problem: Problem) -> str:
    """The reference answer as its shortest decimal text (`132.0` is `132`, `7.140` is `7.14`)."""
    text = problem.reference_answer
    return text.rstrip("0").rstrip(".") if "." in text else text


def slipped(problem: Problem, wrong: str) -> Problem:
    """The same question with another answer, to which the last of its worked steps leads."""
    head, _, tail = problem.metadata["steps"][-1].rpartition(f"= {reference_value(problem)}")
    last = f"{head}= {wrong}{tail}" if head else problem.metadata["steps"][-1]
    steps = [*problem.metadata["steps"][:-1], last]
    return replace(problem, reference_answer=wrong, metadata={**problem.metadata, "steps": steps})


def write_demonstration(problem: Problem, rng: random.Random, way: str | None = None) -> str:
    """One completion that ends in the right answer (a hedged one names others beside it, a blank one none), by a way or
    any way but blank."""
    return composed(problem, reference_value(problem), rng, way, FORMS, state_answer, near_miss)


def composed(
    problem: Problem,
    value: str,
    rng: random.Random,
    way: str | None,
    forms: Mapping[str, float],
    state: Callable[[Problem, str, str, random.Random], str],
    miss: Callable[[str, random.Random], str],
) -> str:
    """A demonstration that ends in `value`: a world's forms, how it states a value in one, and a value like another."""
    way = way or rng.choices(list(WAYS), weights=list(WAYS.values()))[0]
    if way == "blank":
        return rng.choice(BLANKS)
    form = rng.choices(list(forms), weights=list(forms.values()))[0]
    steps = list(problem.metadata["steps"])
    statement = state(problem, value, form, rng)
    if way == "steps":
        return " ".join([*steps, statement])
    if way == "last_step":
        return f"{steps[-1]} {statement}"
    if way == "direct":
        return statement
    options = [value, miss(value, rng)]
    rng.shuffle(options)
    return rng.choice(
        [
            f"The answer is {options[0]} or {options[1]}.",
            f"It could be {options[0]}, but maybe {options[1]}.",
            f"\\boxed{{{options[0]}}} or \\boxed{{{options[1]}}}",
        ]
    )
