"""Closing sentences for worked solutions, in many writings.

They follow what SmolLM2-135M-Instruct wrote by itself after the steps of a worked solution. Common markings, such as
a box, are beside them.
"""

from __future__ import annotations

import random

from cooper_rl.records import Problem

NO_CLOSING = 0.15  # share of solutions that end with their last step, where that step names the answer
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


def closing(problem: Problem, rng: random.Random) -> str:
    """A closing sentence with the reference answer, with what comes before it; "" where the last step is enough."""
    task, metadata = str(problem.metadata["task"]), problem.metadata["entry"]["metadata"]
    if task not in ("time_intervals", "calendar_arithmetic") and rng.random() < NO_CLOSING:
        return ""
    answer = problem.reference_answer
    text = rng.choice(_OF_TASK[task] * 2 + _ANY).format(
        answer=written_duration(answer, rng) if task == "time_intervals" else answer,
        letter=metadata.get("variable", ""),
        given=" and ".join(map(str, metadata.get("numbers", ()))),
        question=f"{metadata.get('expression', '')} =",
    )
    return text if text.startswith("\n") else f" {text}"


def written_duration(clock: str, rng: random.Random) -> str:
    """`03:22` as it is, or with its units: `3 hours and 22 minutes`, `3 hours, 22 minutes`, `3h 22m`."""
    hours, minutes = map(int, clock.split(":"))
    units = [(hours, "hour"), (minutes, "minute")]
    parts = [f"{count} {unit}{'s' * (count != 1)}" for count, unit in units if count] or ["0 minutes"]
    short = " ".join(f"{count}{unit[0]}" for count, unit in units if count) or "0m"
    long = " and ".join(parts)
    return rng.choice([clock, long, long, long, ", ".join(parts), short])
