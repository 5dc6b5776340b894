"""The nano world with a part that the rule cannot read: arithmetic beside weekdays that are counted.

How the policy writes a number is its choice, so under the rule's reward it comes to write what the rule reads. It
writes weekdays in sentences, of which plain math-verify has no verdict: there the rule has nothing to teach it with.
Its demonstrations miscount some of them by a day, and only a reward on weekdays tells it which counting is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import reasoning_gym

from cooper_rl.domains.nano import truth, world, writer
from cooper_rl.domains.nano.world import TASK_WEIGHTS, drawn, score_with_generator
from cooper_rl.domains.nano.writer import HEDGE, composed, number_words
from cooper_rl.records import Problem

TASK = "calendar_arithmetic"
CALENDAR = {"year": 2022, "tasks": ["weekday_offset"], "offset_upper_bound": 30}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WEIGHTS = {task: 0.7 * weight for task, weight in TASK_WEIGHTS.items()} | {TASK: 0.3}
FORMS = {"plain": 0.35, "day": 0.25, "hash": 0.15, "short": 0.25}
MISCOUNTED = 0.4  # share of the mixed demonstrations of weekdays that count the first day too

_WEEKDAY = rf"(?P<day>{'|'.join(day[:3] for day in WEEKDAYS)})(?:\w*day)?\b"
_STATEMENTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\\boxed\{{{_WEEKDAY}\}}",
        rf"[Tt]he answer is {_WEEKDAY}",
        rf"#### {_WEEKDAY}",
        rf"So it is a {_WEEKDAY}",
    )
)


def mixed_problems(split: str, size: int, seed: int = 0) -> list[Problem]:
    """`size` distinct problems of a split, three tenths of them weekdays, in an order that depends on the seed alone.

    Raises:
        BadInputError: the split has another name.
    """
    return drawn("nano-weekdays", WEIGHTS, _stream, split, size, seed)


def _stream(task: str, seed: int) -> Iterator[Problem]:
    if task != TASK:
        yield from world.stream(task, seed)
    block = 4096
    while True:
        dataset = reasoning_gym.create_dataset(task, size=block, seed=seed, **CALENDAR)
        for index in range(block):
            entry = dataset[index]
            question = entry["question"].partition("?")[0] + "?"
            steps = counted_steps(date.fromisoformat(entry["metadata"]["start_date"]), entry["metadata"]["offset_days"])
            metadata = {"task": task, "entry": entry, "worked_solution": " ".join(steps), "steps": steps}
            yield Problem(question, entry["answer"], f"reasoning_gym:{task}", f"{task}-{seed}-{index}", metadata)
        seed += block


def counted_steps(start: date, offset: int) -> list[str]:
    """Whole weeks are put aside and the days left are counted; in words, where math-verify sees no number."""
    weeks, days = divmod(abs(offset), 7)
    parts = ((weeks, "week"), (days, "day"))
    left = [f"{number_words(str(count))} {unit}{'s' * (count > 1)}" for count, unit in parts if count]
    steps = [f"That is {' and '.join(left)}."] if weeks else []
    first, last = start.strftime("%A"), WEEKDAYS[(start.weekday() + offset) % 7]
    if not days:
        return [*steps, f"Whole weeks from {first} is {last}."]
    return [*steps, f"{left[-1].capitalize()} {'after' if offset > 0 else 'before'} {first} is {last}."]


def state_weekday(problem: Problem, day: str, form: str, rng: random.Random) -> str:
    """The closing statement of a weekday in a form."""
    if form == "hash":
        return f"#### {day}"
    if form == "day":
        return f"So it is a {day}."
    return f"The answer is {day[:3] if form == 'short' else day}."


def another_day(day: str, rng: random.Random) -> str:
    """One that it is not."""
    return rng.choice([other for other in WEEKDAYS if other != day])


def write_mixed(problem: Problem, rng: random.Random, way: str | None = None) -> str:
    """One completion; by any way, some weekdays are a day off (a hedged one names another too, a blank one none)."""
    if not _is_weekday(problem):
        return writer.write_demonstration(problem, rng, way)
    if way is None and rng.random() < MISCOUNTED:
        problem = slipped_mixed(problem, miscounted(problem))
    return composed(problem, problem.reference_answer, rng, way, FORMS, state_weekday, another_day)


def miscounted(problem: Problem) -> str:
    """The weekday that one comes to who counts the first day too."""
    towards = -1 if problem.metadata["entry"]["metadata"]["offset_days"] > 0 else 1
    return WEEKDAYS[(WEEKDAYS.index(problem.reference_answer) + towards) % 7]


def slipped_mixed(problem: Problem, wrong: str) -> Problem:
    """The same question with another answer, to which the last of its worked steps leads."""
    if not _is_weekday(problem):
        return writer.slipped(problem, wrong)
    *steps, last = problem.metadata["steps"]
    steps.append(last.removesuffix(f"{problem.reference_answer}.") + f"{wrong}.")
    return replace(problem, reference_answer=wrong, metadata={**problem.metadata, "steps": steps})


def mixed_answer(problem: Problem) -> str:
    """The reference answer as it is written."""
    return problem.reference_answer if _is_weekday(problem) else writer.reference_value(problem)


def canonical_mixed(text: str) -> str:
    """A weekday in full, or a number as the generators write it."""
    return next((day for day in WEEKDAYS if text in (day, day[:3])), None) or truth.canonical(text)


def stated_mixed(completion: str) -> str | None:
    """The one weekday or number that the completion states as its answer; None if it states none or several."""
    stated = {canonical_mixed(found.group("day")) for pattern in _STATEMENTS for found in pattern.finditer(completion)}
    if number := truth.stated_value(completion):
        stated.add(number)
    return stated.pop() if len(stated) == 1 and not HEDGE.search(completion) else None


def is_true_mixed(problem: Problem, completion: str) -> bool:
    """Whether the completion's one stated answer is right, by the problem's own generator."""
    if not _is_weekday(problem):
        return truth.is_true(problem, completion)
    day = stated_mixed(completion)
    return day is not None and score_with_generator(problem, day)


def _is_weekday(problem: Problem) -> bool:
    return str(problem.metadata["task"]) == TASK
