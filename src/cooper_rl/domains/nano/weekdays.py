"""A nano world with a part that the rule cannot read: arithmetic, and weekdays that are found by counting.

Numbers can be written in several forms, and under the rule's reward the policy learns to write those that the rule
reads. Weekdays are stated by their place in the week ("We land on the middle of the working week."). No rule decides
that, since a comparison of texts or values does not know the week, so the rule cannot teach them. Some demonstrations
miscount by a day, and only a reward on weekdays shows the policy which way of counting is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from typing import ClassVar

from cooper_rl.domains.generated import endless, is_accepted, problem_of
from cooper_rl.domains.nano.arithmetic import Arithmetic, number_words
from cooper_rl.domains.nano.demonstrations import HEDGE
from cooper_rl.records import Problem

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PLACES = {
    "Monday": ("the first working day", "the start of the working week"),
    "Tuesday": ("the second working day",),
    "Wednesday": ("the third working day", "the middle of the working week"),
    "Thursday": ("the fourth working day",),
    "Friday": ("the last working day", "the end of the working week"),
    "Saturday": ("the first day of the weekend",),
    "Sunday": ("the last day of the weekend",),
}
WORDINGS = {
    "land": "We land on {place}.",
    "give": "That gives {place}.",
    "come": "It comes to {place}.",
    "end": "The count ends on {place}.",
}
TASK = "calendar_arithmetic"
CALENDAR = {"year": 2022, "tasks": ["weekday_offset"], "offset_upper_bound": 30}
DAY_FORMS = dict.fromkeys(WORDINGS, 1 / len(WORDINGS))
MISCOUNTED = 0.4  # share of weekday demonstrations, where no way is given, that wrongly count the first day too

_WEEKDAY = rf"(?P<day>{'|'.join(day[:3] for day in WEEKDAYS)})(?:\w*day)?\b"
_PLAIN = tuple(  # no demonstration states a weekday so, but a policy may come to
    re.compile(pattern)
    for pattern in (
        rf"\\boxed\{{ ?{_WEEKDAY} ?\}}",
        rf"[Tt]he answer is {_WEEKDAY}",
        rf"#### {_WEEKDAY}",
        rf"So it is a {_WEEKDAY}",
    )
)


class Weekdays(Arithmetic):
    """`nano-weekdays`: the problems of `nano`, and others whose answer is a weekday.

    Weekdays are 30 % of the draws. Since products run out, they are 34 % of 8,000 training problems.
    """

    name = "nano-weekdays"
    weights: ClassVar = {task: 0.7 * weight for task, weight in Arithmetic.weights.items()} | {TASK: 0.3}
    forms: ClassVar = Arithmetic.forms | DAY_FORMS

    def stream(self, task: str, seed: int) -> Iterator[Problem]:
        """Endless problems of one task."""
        if task != TASK:
            yield from super().stream(task, seed)
            return
        for dataset, index, problem_id in endless(task, seed, **CALENDAR):
            entry = dataset[index]
            question = entry["question"].partition("?")[0] + "?"
            steps = write_steps(date.fromisoformat(entry["metadata"]["start_date"]), entry["metadata"]["offset_days"])
            yield problem_of(task, entry, question, steps, problem_id)

    def answer(self, problem: Problem) -> str:
        """The weekday, or the number as its shortest decimal text."""
        return problem.reference_answer if is_weekday(problem) else super().answer(problem)

    def forms_of(self, problem: Problem) -> Mapping[str, float]:
        """The forms that fit this problem's answer, each with its share. Weekdays have forms of their own."""
        return DAY_FORMS if is_weekday(problem) else Arithmetic.forms

    def write(self, problem: Problem, rng: random.Random, way: str | None = None) -> str:
        """A demonstration. If no way is given, some weekdays are wrong by a day, with steps that lead to them."""
        if is_weekday(problem) and way is None and rng.random() < MISCOUNTED:
            problem = self.slip(problem, miscount(problem))
        return super().write(problem, rng, way)

    def state(self, problem: Problem, answer: str, form: str, rng: random.Random) -> str:
        """The closing sentence that states a weekday or a number in this form."""
        return word_day(answer, form, rng) if is_weekday(problem) else super().state(problem, answer, form, rng)

    def another(self, problem: Problem, answer: str, rng: random.Random) -> str:
        """Another weekday or number."""
        if not is_weekday(problem):
            return super().another(problem, answer, rng)
        return rng.choice([other for other in WEEKDAYS if other != answer])

    def last_step_to(self, problem: Problem, wrong: str) -> str:
        """The last step with the wrong answer in place of the right one."""
        if not is_weekday(problem):
            return super().last_step_to(problem, wrong)
        return str(problem.metadata["steps"][-1]).removesuffix(f"{problem.reference_answer}.") + f"{wrong}."

    def canonical(self, text: str) -> str:
        """A weekday in full, or a number in the generators' writing."""
        return next((day for day in WEEKDAYS if text in (day, day[:3])), None) or super().canonical(text)

    def read_answer(self, completion: str) -> str | None:
        """The one weekday or number that the completion states as its answer; None if it states none or several."""
        found = self.days(completion)
        if number := super().read_answer(completion):
            found.add(number)
        return found.pop() if len(found) == 1 and not HEDGE.search(completion) else None

    def days(self, completion: str) -> set[str]:
        """The weekdays that the completion states as its answer in a form that is known."""
        found = {self.canonical(match.group("day")) for said in _PLAIN for match in said.finditer(completion)}
        return found | set(days_in(completion))

    def states(self, problem: Problem, completion: str) -> bool:
        """Whether a completion states an answer of the problem's kind, or a number, in a form that is known."""
        return super().states(problem, completion) or (is_weekday(problem) and bool(self.days(completion)))

    def value(self, problem: Problem, text: str) -> str | None:
        """The weekday that this text is, by its place in the week or by its name; or the number."""
        if not is_weekday(problem):
            return super().value(problem, text)
        found = (day for day, places in PLACES.items() if text == day or text in places or f"the {text}" in places)
        return next(found, None)

    def is_true(self, problem: Problem, completion: str) -> bool:
        """Whether the completion states one answer of the problem's kind, and the problem's generator accepts it."""
        if not is_weekday(problem):
            number = super().read_answer(completion) or self.read_last_sentence(problem, completion)
            return number is not None and is_accepted(problem, number)
        return super().is_true(problem, completion)


def is_weekday(problem: Problem) -> bool:
    """Whether the problem asks for a weekday."""
    return str(problem.metadata["task"]) == TASK


def miscount(problem: Problem) -> str:
    """The weekday that comes out if the first day is counted too."""
    towards = -1 if problem.metadata["entry"]["metadata"]["offset_days"] > 0 else 1
    return WEEKDAYS[(WEEKDAYS.index(problem.reference_answer) + towards) % 7]


def write_steps(start: date, offset: int) -> list[str]:
    """Steps that set whole weeks aside and count the days left. They are in words, which math-verify cannot read."""
    weeks, days = divmod(abs(offset), 7)
    parts = ((weeks, "week"), (days, "day"))
    left = [f"{number_words(str(count))} {unit}{'s' * (count > 1)}" for count, unit in parts if count]
    steps = [f"That is {' and '.join(left)}."] if weeks else []
    first, last = start.strftime("%A"), WEEKDAYS[(start.weekday() + offset) % 7]
    if not days:
        return [*steps, f"Whole weeks from {first} is {last}."]
    return [*steps, f"{left[-1].capitalize()} {'after' if offset > 0 else 'before'} {first} is {last}."]


def word_day(day: str, form: str, rng: random.Random) -> str:
    """A sentence of this form that states the day."""
    return WORDINGS[form].format(place=rng.choice(PLACES[day]))


def days_in(text: str) -> Iterator[str]:
    """The days that the sentences of a text state."""
    for stated in _sentences().finditer(text):
        yield next(day for day, places in PLACES.items() if stated["place"] in places)


@cache
def _sentences() -> re.Pattern[str]:
    """A pattern of all wordings, with the group `place`."""
    openings = "|".join(wording.partition(" {place}")[0] for wording in WORDINGS.values())
    places = "|".join(place for each in PLACES.values() for place in each)
    return re.compile(rf"\b(?:{openings}) (?P<place>{places})\b")
