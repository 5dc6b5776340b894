"""A sequential test: has a rate risen above its level in the first steps? (Betting, arXiv 2010.09686 and 2203.03532.)

Somebody bets on a rise. As long as there is none, no strategy gains in expectation, so the capital exceeds 1/p at any
time with probability at most p (Ville). The test may be looked at after every step, for as long as a run lasts.

Null hypothesis: there is a level m such that the first observations have a mean of at least m, and the later ones a
mean of at most m, each given what came before. Observations are in [0, 1] and may have any distribution. For each m the
capital is that of a bet that the first ones are below m, times that of a bet that the later ones are above it. The
smallest capital over all m is the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEVELS = 200  # levels m between 0 and 1
MOST = 1e100  # the capital is not counted beyond this
STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8])  # shares of the capital that is bet, each by an equal part of it


class RiseTest:
    """The test. `evidence` is the capital: 1 at the start, and at least 1/p where a rise is shown at the error p."""

    def __init__(self) -> None:
        self.level_M = np.arange(LEVELS + 1) / LEVELS
        self.first_SM = np.ones(
            (len(STAKES), LEVELS)
        )  # capital of the bets on the first ones, at the levels' lower ends
        self.later_SM = np.zeros((len(STAKES), LEVELS))  # capital put into bets on a rise, at the levels' upper ends
        self.rounds = 0  # steps that were bet on
        self.evidence = 1.0

    def add_first(self, shares: Sequence[float]) -> None:
        """Takes in observations of the first steps."""
        low_M = self.level_M[:-1]
        for share in shares:
            self.first_SM *= 1 + STAKES[:, None] * (low_M - share) / (1 - low_M)
        self.first_SM = np.minimum(self.first_SM, MOST)

    def add_later(self, shares: Sequence[float]) -> None:
        """Takes in the observations of a later step.

        A rise may begin in any step. So before the n-th of them, the share 1/(n(n+1)) of the capital is newly bet.
        """
        high_M = self.level_M[1:]
        self.rounds += 1
        self.later_SM += 1 / (self.rounds * (self.rounds + 1))
        for share in shares:
            self.later_SM *= 1 + STAKES[:, None] * (share - high_M) / high_M
        self.later_SM = np.minimum(self.later_SM, MOST)
        self._weigh()

    def _weigh(self) -> None:
        idle = 1 / (self.rounds + 1)
        self.evidence = float((self.first_SM.mean(0) * (self.later_SM.mean(0) + idle)).min())

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        return {"first": self.first_SM.tolist(), "later": self.later_SM.tolist(), "rounds": self.rounds}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restores what `state` gave."""
        self.first_SM, self.later_SM = np.array(state["first"]), np.array(state["later"])
        self.rounds = int(state["rounds"])
        if self.rounds:
            self._weigh()
