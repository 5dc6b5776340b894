"""The reward of each arm, and what the reward callable records."""

import math

import pytest

from cooper_rl.records import Reason, Rollout, Verdict
from cooper_rl.rl.reward import reward_of, rollout_metrics


@pytest.mark.parametrize(
    ("arm", "score", "verdict", "threshold", "reward"),
    [
        ("rule", 0.9, Verdict.INCORRECT, None, 0.0),
        ("rule", math.nan, Verdict.CORRECT, None, 1.0),
        ("rule", 0.9, Verdict.UNPARSEABLE, None, 0.0),
        ("static", 0.9, Verdict.INCORRECT, None, 0.9),
        ("cooper", 0.2, Verdict.CORRECT, None, 0.2),
        ("cooper", 0.51, Verdict.INCORRECT, 0.5, 1.0),
        ("cooper", 0.5, Verdict.CORRECT, 0.5, 0.0),
        ("hybrid", 0.2, Verdict.CORRECT, None, 1.0),
        ("hybrid", 0.7, Verdict.UNPARSEABLE, None, 0.7),
        ("hybrid", 0.3, Verdict.INCORRECT, 0.5, 0.0),
    ],
)
def test_reward_of_each_arm(arm, score, verdict, threshold, reward):
    assert reward_of(arm, score, verdict, threshold) == reward


def rollout(verdict, reason, score):
    return Rollout("q", "4", "text", score, verdict, reason, score, group=0)


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
