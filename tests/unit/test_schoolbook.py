"""The world for a small pretrained model: worked solutions, closings, and the value that a completion ends in."""

import random
from dataclasses import replace

import pytest

from cooper_rl.domains.schoolbook import SETTINGS, VALUES, Schoolbook, find_value, write_closing, write_duration
from cooper_rl.verifiers.simple import scorer

WORLD = Schoolbook()
PROBLEMS = WORLD.problems("train", 600, 0)


def test_all_tasks_are_there_and_no_question_asks_for_a_format():
    assert {p.metadata["task"] for p in PROBLEMS} == set(SETTINGS)
    assert not [p.question for p in PROBLEMS if "HH:MM" in p.question or "Give only" in p.question]


def test_every_demonstration_is_right_by_the_generator():
    rng = random.Random(0)
    for problem in PROBLEMS:
        text = problem.metadata["worked_solution"] + write_closing(problem, rng)
        assert WORLD.is_true(problem, text), (problem.question, text)


def test_a_closing_with_another_answer_is_wrong():
    rng = random.Random(1)
    others = {p.metadata["task"]: p for p in PROBLEMS}
    for problem in PROBLEMS[:200]:
        other = others[problem.metadata["task"]]
        if other.reference_answer != problem.reference_answer:
            assert not WORLD.is_true(
                problem, write_closing(replace(problem, reference_answer=other.reference_answer), rng)
            )


@pytest.mark.parametrize(
    ("task", "question", "completion", "value"),
    [
        ("chain_sum", "6 - 8 =", "6 - 8 = -2. The answer is -2.", "-2"),
        ("chain_sum", "6 - 8 =", "So 6 - 8 = - 2", "-2"),
        ("chain_sum", "23 - 60 =", "23 - 60 is negative 37.", "-37"),
        ("chain_sum", "900 + 500 =", "It is 1,400.", "1400"),
        ("chain_sum", "20 + 5 =", "That makes twenty-five.", "25"),
        ("chain_sum", "20 + 5 =", "It is 25 or 26.", None),
        ("chain_sum", "20 + 5 =", "20 + 5 = 25\n\nThank you.", "25"),
        ("chain_sum", "20 + 5 =", "I do not know.", None),
        ("chain_sum", "20 + 5 =", "The answer is 25. So the answer is \\boxed{26}.", "26"),
        ("gcd", "the GCD of 27, 42", "The GCD of 27 and 42 is 3.", "3"),
        ("gcd", "the GCD of 6, 18", "The GCD of 6 and 18 is 6", "6"),
        ("gcd", "the GCD of 6, 18", "1 2 3 4 5 7", None),
        ("simple_equations", "4*h + 3 = 11", "So the value of h is 2.0.", "2"),
        ("time_intervals", "from 18:34 to 21:56?", "It took 3 hours and 22 minutes.", "03:22"),
        ("time_intervals", "from 18:34 to 21:56?", "From 18:34 to 21:56 is 202 minutes.", "03:22"),
        ("time_intervals", "from 18:34 to 21:56?", "The answer is 3h 22m.", "03:22"),
        ("time_intervals", "from 18:34 to 21:56?", "The answer is 3:22.", "03:22"),
        ("time_intervals", "from 18:34 to 19:34?", "an hour", None),
        ("calendar_arithmetic", "5 days after Tuesday?", "5 days after Tuesday is Sunday.", "Sunday"),
        ("calendar_arithmetic", "5 days after Tuesday?", "Wed, Thurs, Fri, Sat, Sun. **Sun**", "Sunday"),
        ("calendar_arithmetic", "5 days after Tuesday?", "It is Saturday or Sunday.", None),
    ],
)
def test_the_value_that_a_completion_ends_in(task, question, completion, value):
    assert find_value(VALUES.get(task, VALUES["number"]), question, completion) == value


def test_durations_are_written_in_several_ways_that_mean_the_same():
    rng = random.Random(0)
    written = {write_duration("03:22", rng) for _ in range(60)}
    assert written == {"03:22", "3 hours and 22 minutes", "3 hours, 22 minutes", "3h 22m"}
    assert {find_value(VALUES["time_intervals"], "?", text) for text in written} == {"03:22"}


def test_the_scorer_takes_the_reference():
    for problem in PROBLEMS[:60]:
        entry = problem.metadata["entry"]
        assert scorer(problem.metadata["task"]).score_answer(problem.reference_answer, entry=entry) == 1.0
