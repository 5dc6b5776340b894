"""Stage 1: the reward of a completion (paper, section 3.3), from the rule's verdict and the reward model's score."""

from __future__ import annotations

from abc import ABC, abstractmethod

from cooper_rl.parts import check_contract, find
from cooper_rl.records import Verdict, Verification

KNOWN = {
    "rule": "cooper_rl.method.reward:RuleReward",
    "score": "cooper_rl.method.reward:ScoreReward",
    "hybrid": "cooper_rl.method.reward:HybridReward",
}


class Reward(ABC):
    """The reward of one completion. The setting `reward` names a subclass of your own as `module:Class`.

    Args:
        threshold: a score above it counts as 1 and any other as 0. With None the score itself counts.
    """

    needs_score = True  # whether a reward model has to be there

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = threshold

    @abstractmethod
    def of(self, verification: Verification, score: float) -> float | None:
        """The reward; None where nothing could be judged, which counts neither as right nor as wrong.

        Args:
            score: from 0 to 1, nan where there is no reward model.
        """

    def grade(self, score: float) -> float:
        """The score itself, or whether it is above the threshold."""
        return score if self.threshold is None else float(score > self.threshold)


class RuleReward(Reward):
    """1 where the rule says CORRECT, None where it failed to judge, else 0."""

    needs_score = False

    def of(self, verification: Verification, score: float) -> float | None:
        failed = verification.verdict in (Verdict.TIMEOUT, Verdict.ERROR)
        return None if failed else float(verification.verdict is Verdict.CORRECT)


class ScoreReward(Reward):
    """The reward model's score."""

    def of(self, verification: Verification, score: float) -> float:
        return self.grade(score)


class HybridReward(Reward):
    """1 where the rule says CORRECT, the reward model's score elsewhere (the TinyV recipe)."""

    def of(self, verification: Verification, score: float) -> float:
        return 1.0 if verification.verdict is Verdict.CORRECT else self.grade(score)


def make_reward(name: str, threshold: float | None = None) -> Reward:
    """The reward of this name, import path or entry point (group `cooper_rl.rewards`).

    Raises:
        BadInputError: there is no such reward, or it is not derived from `Reward`.
    """
    found = find("cooper_rl.rewards", name, KNOWN)
    check_contract("reward", name, found, Reward)
    made: Reward = found(threshold)
    return made
