"""The reward of each kind, and one of a user's own."""

import math

import pytest

from cooper_rl.errors import BadInputError
from cooper_rl.method.reward import Reward, make_reward
from cooper_rl.records import Reason, Verdict, Verification


@pytest.mark.parametrize(
    ("kind", "score", "verdict", "threshold", "reward"),
    [
        ("rule", 0.9, Verdict.INCORRECT, None, 0.0),
        ("rule", math.nan, Verdict.CORRECT, None, 1.0),
        ("rule", 0.9, Verdict.UNPARSEABLE, None, 0.0),
        ("rule", 0.9, Verdict.TIMEOUT, None, None),  # a failure to judge never counts as wrong
        ("rule", math.nan, Verdict.ERROR, 0.5, None),
        ("hybrid", 0.7, Verdict.TIMEOUT, None, 0.7),
        ("score", 0.9, Verdict.INCORRECT, None, 0.9),
        ("score", 0.2, Verdict.CORRECT, None, 0.2),
        ("score", 0.51, Verdict.INCORRECT, 0.5, 1.0),
        ("score", 0.5, Verdict.CORRECT, 0.5, 0.0),
        ("hybrid", 0.2, Verdict.CORRECT, None, 1.0),
        ("hybrid", 0.7, Verdict.UNPARSEABLE, None, 0.7),
        ("hybrid", 0.3, Verdict.INCORRECT, 0.5, 0.0),
    ],
)
def test_reward_of_each_kind(kind, score, verdict, threshold, reward):
    assert make_reward(kind, threshold).of(Verification(verdict, Reason.MATCH), score) == reward


class Halved(Reward):
    """Half of the score."""

    def of(self, verification, score):
        return self.grade(score) / 2


def test_a_users_own_reward_by_import_path():
    assert make_reward("test_reward:Halved").of(Verification(Verdict.CORRECT, Reason.MATCH), 0.8) == 0.4
    with pytest.raises(BadInputError, match="did you mean hybrid"):
        make_reward("hybird")
