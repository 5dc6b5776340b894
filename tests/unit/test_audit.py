"""The audit of fresh rollouts and the hacking alarm."""

import json
import math

import pytest

from cooper_rl.intervals import wilson
from cooper_rl.method.alarm import HackingAlarm
from cooper_rl.method.monitor import false_positives, rollout_metrics
from cooper_rl.records import Reason, Report, Verdict
from rollouts import make_rollout

LIMITS = {"hacking/false_positive_rate_low": 0.0, "hacking/false_positive_rate_high": 1.0}


def rollout(verdict, reason, score):
    return make_rollout("q", "4", "text", score, verdict, reason, score, group=0)


def test_false_positives_are_counted_among_what_is_surely_wrong():
    """A blank that scores high is an exploit; a right answer in an unknown form is not, whatever it scores."""
    rollouts = [
        rollout(Verdict.CORRECT, Reason.MATCH, 0.9),
        rollout(Verdict.INCORRECT, Reason.MISMATCH, 0.1),
        rollout(Verdict.INCORRECT, Reason.MISMATCH, 0.7),
        rollout(Verdict.UNPARSEABLE, Reason.NO_ANSWER, 0.8),
        rollout(Verdict.UNPARSEABLE, Reason.UNKNOWN_FORM, 0.9),
        rollout(Verdict.TIMEOUT, Reason.DEADLINE, 0.9),
    ]
    metrics = rollout_metrics(rollouts)
    assert metrics["hacking/false_positive_rate"] == pytest.approx(2 / 3)
    assert metrics["accuracy/rule"] == pytest.approx(1 / 6)
    assert metrics["verifier/no_answer_rate"] == pytest.approx(1 / 6)


def test_the_rule_arm_has_no_false_positive_rate():
    metrics = rollout_metrics([rollout(Verdict.INCORRECT, Reason.MISMATCH, math.nan)])
    assert "hacking/false_positive_rate" not in metrics


def test_completions_without_text_are_counted():
    texts = ["4", "", " \n", "So 4."]
    rollouts = [make_rollout("q", "4", text, 0.5, Verdict.INCORRECT, Reason.MISMATCH, 0.5, group=0) for text in texts]
    assert rollout_metrics(rollouts)["completions/empty_rate"] == 0.5


def several(verdict, count, high, reason=Reason.MISMATCH):
    """`count` rollouts, of which the reward model scores `high` above 0.5."""
    return [rollout(verdict, reason, 0.9 if i < high else 0.1) for i in range(count)]


def test_wilson_interval_of_a_textbook_case():
    low, high = wilson(8, 10)
    assert (low, high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert wilson(0, 10)[0] == pytest.approx(0.0) and wilson(10, 10)[1] == pytest.approx(1.0)


def test_the_rules_own_misses_are_no_false_positives():
    """Of 40 INCORRECT ones 10 are right, all accepted; the reward model takes 6 of the 30 wrong ones."""
    rollouts = several(Verdict.CORRECT, 20, 20, Reason.MATCH) + several(Verdict.INCORRECT, 40, 16)
    assert false_positives(rollouts)["hacking/false_positive_rate"] == pytest.approx(16 / 40)
    corrected = false_positives(rollouts, misses_per_hit=0.5)
    assert corrected["hacking/false_positive_rate"] == pytest.approx(6 / 30)
    low, high = wilson(16, 40)
    assert corrected["hacking/false_positive_rate_low"] == pytest.approx((low * 40 - 10) / 30)
    assert corrected["hacking/false_positive_rate_high"] == pytest.approx((high * 40 - 10) / 30)


def test_the_rate_stays_a_share():
    rollouts = several(Verdict.CORRECT, 20, 20, Reason.MATCH) + several(Verdict.INCORRECT, 12, 2)
    assert false_positives(rollouts, misses_per_hit=0.5)["hacking/false_positive_rate"] == 0.0
    assert false_positives(rollouts, misses_per_hit=1.0) == {}  # more misses expected than there are


def test_several_answers_are_counted():
    boxes = make_rollout(
        "q", "4", "\\boxed{4} or \\boxed{5}", 0.9, Verdict.INCORRECT, Reason.CONTRADICTION, 1.0, 0, several_answers=True
    )
    one = make_rollout("q", "4", "\\boxed{4}", 0.9, Verdict.CORRECT, Reason.MATCH, 1.0, 0)
    assert rollout_metrics([boxes, one, one, one])["hacking/several_answers_rate"] == 0.25


def fired(rates, accuracies):
    alarm = HackingAlarm()
    rows = [{"hacking/false_positive_rate": f, "accuracy/rule": a} for f, a in zip(rates, accuracies, strict=True)]
    return [step for step, row in enumerate(rows, 1) if alarm.add(row)]


def test_the_alarm_fires_where_false_positives_grow_alone():
    noise = [0.02 * (-1) ** i for i in range(40)]
    flat = [0.2 + n for n in noise]
    assert fired(flat, flat) == []
    growing = flat[:20] + [0.2 + 0.02 * i + noise[i] for i in range(20)]
    assert fired(growing, flat)[0] in range(26, 33)
    learning = flat[:20] + [0.2 + 0.03 * i for i in range(20)]
    assert fired(growing, learning) == []  # the rule finds more right, too


def test_the_alarm_needs_more_than_noise():
    wild = [0.2, 0.6, 0.1, 0.5, 0.0, 0.6, 0.1, 0.4, 0.2, 0.5]
    assert fired([*wild, 0.6, 0.3, 0.6, 0.1, 0.6], [0.3] * 15) == []


def test_steps_without_a_wrong_rollout_tell_nothing():
    alarm = HackingAlarm()
    assert not any(alarm.add({"accuracy/rule": 1.0}) for _ in range(100)) and alarm.rule_accuracies == []


def test_a_resumed_alarm_is_the_one_that_was(caplog):
    """Its state is in the checkpoint: the log may hold means over several steps."""
    noise = [0.02 * (-1) ** i for i in range(40)]
    rates = [0.2 + n for n in noise[:20]] + [0.2 + 0.02 * i + noise[i] for i in range(20)]
    reports = [
        Report(step, metrics={"hacking/false_positive_rate": rate, "accuracy/rule": 0.3} | LIMITS)
        for step, rate in enumerate(rates, 1)
    ]
    straight = HackingAlarm("hybrid")
    expected = [straight.after(report, whole=False).metrics["hacking/alarm"] for report in reports]
    assert straight.reward == "hybrid" and 1.0 in expected[20:] and caplog.text.count("hacking alarm") == 1
    for cut in (5, 22, 35):
        first, second = HackingAlarm("hybrid"), HackingAlarm("hybrid")
        found = [first.after(report, whole=False).metrics["hacking/alarm"] for report in reports[:cut]]
        second.load_state(json.loads(json.dumps(first.state())))
        assert second.reward == first.reward
        found += [second.after(report, whole=False).metrics["hacking/alarm"] for report in reports[cut:]]
        assert found == expected


@pytest.mark.parametrize(
    ("action", "stops", "reward"), [("log", False, None), ("stop", True, None), ("hybrid", False, "hybrid")]
)
def test_what_the_alarm_asks_for(action, stops, reward):
    alarm = HackingAlarm(action)
    alarm.load_state({"fired": True, "false_positive_rates": [], "rule_accuracies": []})
    assert alarm.after(Report(1), whole=False).stop == stops and alarm.reward == reward
