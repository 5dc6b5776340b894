"""Rules that say less than they know."""

import random

import pytest

from cooper_rl.domains.nano import WORLDS, silent
from cooper_rl.records import Reason, Verdict


def test_a_positive_rule_never_says_incorrect():
    for rule in (silent.positive_math, silent.positive_math_verify):
        assert rule("12", "The answer is 12.").verdict is Verdict.CORRECT
        for completion in ("The answer is 13.", "", "The answer is"):
            found = rule("12", completion)
            assert (found.verdict, found.reason) == (Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM)


@pytest.fixture(scope="module")
def statements():
    """(reference, completion, whether it is right): demonstrations of the world, and the same with another answer."""
    world, rng = WORLDS["nano-weekdays"], random.Random(0)
    problems = world.problems("train", 150, 1)
    made = [(p, world.write(p, rng)) for p in problems for _ in range(3)]
    return [(p.reference_answer, text, world.is_true(p, text)) for p, text in made]


def test_the_whole_rule_reads_every_form_of_the_demonstrations(statements):
    for reference, completion, right in statements:
        assert (silent.weekdays_100(reference, completion).verdict is Verdict.CORRECT) == right, completion


@pytest.mark.parametrize(("rule", "share"), [("weekdays_75", 0.75), ("weekdays_50", 0.5), ("weekdays_25", 0.25)])
def test_a_share_of_the_wordings_is_read_and_none_otherwise(rule, share, statements):
    read, whole = getattr(silent, rule), silent.weekdays_100
    right = [(reference, completion) for reference, completion, true in statements if true]
    found = [read(*each).verdict for each in right]
    assert abs(sum(verdict is Verdict.CORRECT for verdict in found) / len(found) - share) < 0.15
    for reference, completion, _ in statements:
        own = read(reference, completion)
        assert own.reason is Reason.UNKNOWN_FORM or own == whole(reference, completion)


def test_a_wording_is_read_whatever_its_answer():
    texts = [f"So it is {value}." for value in ("3", "-14", "7/2", "twelve", "Monday", "350%")]
    assert len({silent.wording(text) for text in texts}) == 1
