"""`schoolbook`: short problems for a small pretrained model, with worked solutions, judged by the generators' scorers.

The questions do not say how to write the answer, so that a model answers in the many ways that it has by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, ClassVar

from cooper_rl.domains.generated import endless
from cooper_rl.domains.gym import GymWorld, accepted, problem_of
from cooper_rl.domains.schoolbook_values import VALUES, stated
from cooper_rl.domains.worked import product_steps, sum_steps
from cooper_rl.records import Problem
from cooper_rl.verifiers.math.words import WEEKDAYS

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
        value = stated(kind, problem.question, completion)
        return value is not None and accepted(problem, value)


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
