"""The rules that call right answers wrong: how many, and nothing else.

data/nano_right_completions.jsonl.gz holds the 1,984 right ones of 8,000 completions of the shipped nano policy
(`collect(policy, "train", 2000, seed=3)` and `collect(policy, "train", 6000, seed=4)`, temperature 1).
"""

import json
from pathlib import Path

import pytest

from cooper_rl.domains.nano import misjudging
from cooper_rl.jsonl import open_lines
from cooper_rl.records import Reason, Verdict
from cooper_rl.testing import check_verifier
from cooper_rl.verifiers.kinds import load
from cooper_rl.verifiers.math.verifier import explain

RULES = "cooper_rl.domains.nano.misjudging:explain"
with open_lines(Path(__file__).parents[1] / "data" / "nano_right_completions.jsonl.gz") as lines:
    RIGHT = [json.loads(line) for line in lines]


def verifications(kind):
    rule = load(f"{RULES}_{kind}")
    return [rule(right["reference"], right["completion"]) for right in RIGHT]


@pytest.mark.parametrize(("kind", "rate"), [("3", 0.03), ("10", 0.10), ("30", 0.30)])
def test_a_rule_calls_about_this_share_of_the_right_answers_wrong(kind, rate):
    found = verifications(kind)
    wrong = sum(check.verdict is Verdict.INCORRECT for check in found) / len(RIGHT)
    assert 0.8 * rate <= wrong <= 1.2 * rate
    for right, check in zip(RIGHT, found, strict=True):
        if check.verdict is not Verdict.INCORRECT:
            assert check == explain(right["reference"], right["completion"])


@pytest.mark.parametrize(("kind", "rate"), [("3", 0.03), ("10", 0.10), ("30", 0.30)])
def test_a_closed_rule_leaves_nothing_open_and_takes_nothing_for_correct_that_the_open_one_does_not(kind, rate):
    opened, closed = verifications(kind), verifications(f"{kind}_closed")
    assert {check.verdict for check in closed} == {Verdict.CORRECT, Verdict.INCORRECT}
    pairs = zip(opened, closed, strict=True)
    assert all((a.verdict is Verdict.CORRECT) == (b.verdict is Verdict.CORRECT) for a, b in pairs)
    assert sum(check.verdict is Verdict.INCORRECT for check in closed) / len(RIGHT) >= rate


@pytest.mark.parametrize(
    ("form", "reference", "completion", "read"),
    [
        ("steps", "132", "60 + 72 = 132. It is 132, in 3 steps.", "3"),
        ("sure", "132", "That makes 132. I am 90% sure.", "90"),
        ("fraction", "-3.7", "The answer is -37/10.", "10"),
        ("percent", "9.7", "The answer is 970%.", "970"),
        ("source", "1452", "1,452 is what we get from 11 and 132.", "132"),
        ("source", "5", "5 is what we get from 60.", "60"),
        ("unit", "26", "So it is 26 marbles.", "26 marbles"),
        ("words", "27", "The answer is twenty-seven.", "seven"),
        ("words", "-1.6", "So it is minus one point six.", "six"),
        ("words", "-5", "So it is minus five.", None),
    ],
)
def test_what_is_read_in_each_form(form, reference, completion, read):
    assert misjudging.misread(reference, completion, [form]) == read
    expected = Verdict.CORRECT if read is None else Verdict.INCORRECT
    assert misjudging.explain_30(reference, completion).verdict is expected


def test_the_reference_is_never_misread():
    assert misjudging.misread("3", "3 * 1 = 3. It is 3, in 3 steps.", ["steps"]) is None


@pytest.mark.slow  # 17 seconds; they are `math`, whose contract is checked
def test_the_rules_keep_the_contract_of_verifiers():
    check_verifier(f"{RULES}_30_closed", ["12", "7.5", "-3"])
    empty = misjudging.explain_30_closed(" ", "It is 12, in 3 steps.")
    assert (empty.verdict, empty.reason) == (Verdict.UNPARSEABLE, Reason.BAD_REFERENCE)
