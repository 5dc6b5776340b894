"""The reward of each arm."""

import math

import pytest

from cooper_rl.method.reward import reward_of
from cooper_rl.records import Verdict


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
