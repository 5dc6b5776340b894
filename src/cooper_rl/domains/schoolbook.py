"""`schoolbook`: short problems for a small pretrained model, with worked solutions, judged by the generators' scorers.

The questions do not say how to write the answer, so that a model answers in the many ways that it has by itself.
What a completion ends in is read apart from the rule verifier, so that it can tell what the rule misses: a number, a
duration or a weekday, in the writings of a pretrained model. The last sentence with a value counts, and of an equation
the right side. The question's own values count only where there is no other.

The closing sentences follow what SmolLM2-135M-Instruct wrote by itself after the steps of a worked solution. Common
markings, such as a box, are beside them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

from cooper_rl.domains.generated import GymWorld, endless, is_accepted, problem_of, product_steps, sum_steps
from cooper_rl.records import Problem
from cooper_rl.verifiers.math.numerals import NUMBER_WORDS, in_words
from cooper_rl.verifiers.math.words import ABBREVIATED, WEEKDAYS

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "chain_sum": {"min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 1},
    "products": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1},
    "gcd": {"min_value": 2, "max_value": 16},
    "simple_equations": {
        "min_terms": 2,
        "max_terms": 2,
        "min_value": 2,
        "max_value": 9,
        "operators_weights": (0.5, 0.5, 0.0),
    },
    "time_intervals": {"task_types": ["time"], "max_time_difference_seconds": 3600},
    "calendar_arithmetic": {"year": 2022, "tasks": ["weekday_offset"], "offset_upper_bound": 6},
}
_FORMAT = re.compile(  # what a question says of the answer's format, at its end
    r" (?:Give|Please|Answer|Express|State|Provide|Reply|Respond|Write|Return|Use|Name)\b[^.?]*\.$"
)
NO_CLOSING = 0.15  # share of solutions that end with their last step, where that step names the answer
_HEDGE = re.compile(r"\b(?:or|maybe|either|could be|might be)\b", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox) ?\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_SENTENCE = re.compile(r"(?<=[^\d\s])[.!?](?:\s|$)|(?<=\d)\.(?:\s|$)|\n")
_WORDS = rf"(?:(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})(?:[ -](?:and )?)?)+\b"
_HOURS, _MINUTES = r"\s*-?\s*(?:hours?|hrs?|h)", r"\s*-?\s*(?:minutes?|mins?|m)"
_ANY = (
    "The answer is {answer}.",
    "So the answer is {answer}.",
    "Therefore, the answer is {answer}.",
    "So, the final answer is {answer}.",
    "\n\nThe answer is: {answer}",
    "Answer: {answer}",
    "**{answer}**",
    "So the answer is \\boxed{{{answer}}}.",
    "\n\n{answer}",
)
_OF_TASK = {
    "chain_sum": ("So the result is {answer}.", "The final result is {answer}.", "So, {question} {answer}."),
    "products": ("So the product is {answer}.", "The result of the multiplication is {answer}."),
    "gcd": (
        "So, the GCD is {answer}.",
        "The GCD of {given} is {answer}.",
        "So the greatest common divisor is {answer}.",
    ),
    "simple_equations": (
        "So, the value of {letter} is {answer}.",
        "Therefore, {letter} = {answer}.",
        "The solution is {letter} = {answer}.",
        "The value of {letter} that satisfies the equation is {answer}.",
    ),
    "time_intervals": (
        "So it took {answer}.",
        "In total, that is {answer}.",
        "So, the duration is {answer}.",
        "The total time is {answer}.",
    ),
    "calendar_arithmetic": ("So it is a {answer}.", "The day is {answer}.", "So, the day of the week is {answer}."),
}


class Schoolbook(GymWorld):
    """Sums, products, greatest common divisors, linear equations, durations and weekdays, drawn equally often.

    Products and divisors have few different questions: of 4,000 training problems they are 2 and 4 %.
    """

    name = "schoolbook"
    weights: ClassVar = dict.fromkeys(SETTINGS, 1 / len(SETTINGS))

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task."""
        for dataset, index, problem_id in endless(task, seed, **SETTINGS[task]):
            entry = dataset[index]
            yield problem_of(task, entry, _FORMAT.sub("", entry["question"]), STEPS[task](entry), problem_id)

    def is_true(self, problem: Problem, completion: str) -> bool:
        """Whether the completion ends in one answer, and the problem's generator accepts it."""
        kind = VALUES.get(str(problem.metadata["task"]), VALUES["number"])
        value = find_value(kind, problem.question, completion)
        return value is not None and is_accepted(problem, value)


def gcd_steps(entry: Mapping[str, Any]) -> list[str]:
    """Euclid's method."""
    small, large = sorted(entry["metadata"]["numbers"])
    steps = []
    while small:
        steps.append(f"{large} = {large // small} * {small} + {large % small}.")
        large, small = small, large % small
    return [*steps, f"The last divisor is {large}."]


def equation_steps(entry: Mapping[str, Any]) -> list[str]:
    """The number goes to the other side, then comes the division. Equations are `5 - 8*e = -51` or `4*h + 3 = 11`."""
    left, right = entry["metadata"]["equation"].split(" = ")
    first, sign, second = left.split(" ")
    letter, total = entry["metadata"]["variable"], int(right)
    if "*" in second:  # 5 - 8*e
        number, factor = int(first), int(second.split("*")[0]) * (1 if sign == "+" else -1)
        moved = f"{total} - {number}"
    else:
        number, factor = int(second) * (1 if sign == "+" else -1), int(first.split("*")[0])
        moved = f"{total} {'-' if number > 0 else '+'} {abs(number)}"
    rest = total - number
    return [f"{factor}*{letter} = {moved} = {rest}.", f"{letter} = {rest} / {factor} = {rest // factor}."]


def duration_steps(entry: Mapping[str, Any]) -> list[str]:
    """At most an hour: the minutes up to the full hour, those after it, and their sum."""
    start, end = (_minutes(entry["metadata"][name]) for name in ("start_time", "end_time"))
    full = (end // 60) * 60
    parts = [(start, full), (full, end)] if start < full < end else [(start, end)]
    steps = [f"From {_clock(a)} to {_clock(b)} is {b - a} minute{'s' * (b - a != 1)}." for a, b in parts]
    return [*steps, f"{full - start} + {end - full} = {end - start}."] if len(parts) > 1 else steps


def weekday_steps(entry: Mapping[str, Any]) -> list[str]:
    """The days are counted one by one."""
    offset = entry["metadata"]["offset_days"]
    day = date.fromisoformat(entry["metadata"]["start_date"]).weekday()
    towards, side = (1, "after") if offset > 0 else (-1, "before")
    first, *counted = (WEEKDAYS[(day + towards * step) % 7].capitalize() for step in range(abs(offset) + 1))
    return [f"{len(counted)} days {side} {first}: {', '.join(counted)}."]


STEPS: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "chain_sum": lambda entry: sum_steps(entry["metadata"]["expression"]),
    "products": lambda entry: product_steps(entry["metadata"]["expression"]),
    "gcd": gcd_steps,
    "simple_equations": equation_steps,
    "time_intervals": duration_steps,
    "calendar_arithmetic": weekday_steps,
}


def _minutes(timestamp: str) -> int:
    hours, minutes = timestamp.split(" ")[1].split(":")[:2]
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


@dataclass(frozen=True)
class Value:
    """A kind of value: the pattern that finds it in a text, and its reading in the generator's writing or None."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], str | None]

    def all_in(self, text: str) -> list[str]:
        """The values of a text, in their order."""
        return [value for found in self.pattern.finditer(text) if (value := self.read(found)) is not None]


def _number(found: re.Match[str]) -> str | None:
    if found["words"]:
        said = in_words(found["words"].strip(" -"))
        text = None if said is None else str(said[0])
    else:
        text = found["digits"].replace(",", "").rstrip(".")
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"-{text}" if text and found["sign"] and text != "0" else text


def _duration(found: re.Match[str]) -> str | None:
    hours, minutes = found["hours"] or found["clock_hours"], found["minutes"] or found["more"] or found["clock_minutes"]
    total = 60 * int(hours or 0) + int(minutes or 0)
    return f"{total // 60:02}:{total % 60:02}"


def _weekday(found: re.Match[str]) -> str | None:
    name = ABBREVIATED.get(found.group(), found.group().lower().removesuffix("s"))
    return name.capitalize() if name in WEEKDAYS else None


VALUES = {
    "number": Value(
        re.compile(
            r"(?P<sign>(?:minus|negative) |(?<![\w)])[-\u2212](?=\d)|(?:^|(?<==)) ?[-\u2212] )?"
            rf"(?:(?P<digits>\d[\d,]*(?:\.\d+)?)|\b(?P<words>{_WORDS}))",
            re.IGNORECASE,
        ),
        _number,
    ),
    "time_intervals": Value(
        re.compile(
            rf"(?P<hours>\d{{1,2}}){_HOURS}\b(?:,? ?(?:and )?(?P<more>\d{{1,2}}){_MINUTES}\b)?"
            rf"|(?P<minutes>\d{{1,4}}){_MINUTES}\b"
            r"|(?<![\d:])(?P<clock_hours>\d{1,2}):(?P<clock_minutes>\d\d)(?!\d)",
            re.IGNORECASE,
        ),
        _duration,
    ),
    "calendar_arithmetic": Value(
        re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?\b", re.IGNORECASE), _weekday
    ),
}


def find_value(kind: Value, question: str, completion: str) -> str | None:
    """The one value that the completion ends in; None if it ends in none, or in several.

    A box counts before all else. The question's own values count where its last sentence has no other.
    """
    candidates = _BOX.findall(completion)[-1:] or reversed(_SENTENCE.split(completion))
    closing = next((text for text in candidates if kind.all_in(text)), None)
    if closing is None:
        return None
    right_side = closing.rpartition("=")[2]
    closing = right_side if kind.all_in(right_side) else closing
    values = kind.all_in(closing)
    given = set(kind.all_in(question))
    others = list(dict.fromkeys(value for value in values if value not in given)) or values[-1:]
    hedged = len(set(values)) > 1 and _HEDGE.search(closing)
    return others[0] if len(others) == 1 and not hedged else None


def write_closing(problem: Problem, rng: random.Random) -> str:
    """A closing sentence with the reference answer, with what comes before it; "" where the last step is enough."""
    task, metadata = str(problem.metadata["task"]), problem.metadata["entry"]["metadata"]
    if task not in ("time_intervals", "calendar_arithmetic") and rng.random() < NO_CLOSING:
        return ""
    answer = problem.reference_answer
    text = rng.choice(_OF_TASK[task] * 2 + _ANY).format(
        answer=write_duration(answer, rng) if task == "time_intervals" else answer,
        letter=metadata.get("variable", ""),
        given=" and ".join(map(str, metadata.get("numbers", ()))),
        question=f"{metadata.get('expression', '')} =",
    )
    return text if text.startswith("\n") else f" {text}"


def write_duration(clock: str, rng: random.Random) -> str:
    """`03:22` as it is, or with its units: `3 hours and 22 minutes`, `3 hours, 22 minutes`, `3h 22m`."""
    hours, minutes = map(int, clock.split(":"))
    units = [(hours, "hour"), (minutes, "minute")]
    parts = [f"{count} {unit}{'s' * (count != 1)}" for count, unit in units if count] or ["0 minutes"]
    short = " ".join(f"{count}{unit[0]}" for count, unit in units if count) or "0m"
    long = " and ".join(parts)
    return rng.choice([clock, long, long, long, ", ".join(parts), short])
