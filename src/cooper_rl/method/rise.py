"""A sequential test: has a rate risen above its level in the first steps? (Betting, arXiv 2010.09686 and 2203.03532.)

Somebody bets on a rise. As long as there is none, no strategy gains in expectation, so the capital exceeds 1/p at any
time with probability at most p (Ville). The test may be looked at after every step, for as long as a run lasts.

Null hypothesis: there is a level m such that the first steps have a mean of at least m on average, and each later step
has a mean of at most m, given what came before. A step is one observation in [0, 1], of any distribution: what the
prompts of a step have in common does not count as evidence. For each m the capital is that of a bet that the first
steps are below m, times that of a bet that later ones are above it. The smallest capital over all m is the evidence.

The bets on the first steps have fixed stakes. A later step is bet on where the last `RECENT` steps are above m, with
the stake that would have been best had each been 0 or 1 (Kelly's), and with a multiple of it. So a quiet time costs
nothing, and a late rise is found as soon as an early one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LEVELS = 200  # levels m between 0 and 1
STAKES = np.array([0.4, 0.95])  # shares of the capital that are bet on each of the first steps, by equal parts of it
TIMES = np.array([1.0, 3.0])  # multiples of Kelly's stake, by equal parts of the capital
MOST_STAKE = 0.95
RECENT = 3
MOST = 1e100  # the capital is not counted beyond this


class RiseTest:
    """The test. `evidence` is the capital: 1 at the start, and at least 1/p where a rise is shown at the error p."""

    def __init__(self) -> None:
        self.level_M = np.arange(LEVELS + 1) / LEVELS
        self.first_SM = np.ones((len(STAKES), LEVELS))  # capital of the bets on the first steps, at the lower levels
        self.later_SM = np.ones((len(TIMES), LEVELS))  # capital of the bets on a rise, at the upper levels
        self.recent: list[float] = []
        self.evidence = 1.0

    def add_first(self, rate: float) -> None:
        """Takes in one of the first steps."""
        low_M = self.level_M[:-1]
        self.first_SM = np.minimum(self.first_SM * (1 + STAKES[:, None] * (low_M - rate) / (1 - low_M)), MOST)

    def add_later(self, rate: float) -> None:
        """Takes in a later step."""
        high_M = self.level_M[1:]
        if self.recent:
            kelly_M = np.maximum(np.mean(self.recent) - high_M, 0) / np.maximum(1 - high_M, 1 / LEVELS)
            stake_SM = np.minimum(TIMES[:, None] * kelly_M, MOST_STAKE)
            self.later_SM = np.minimum(self.later_SM * (1 + stake_SM * (rate - high_M) / high_M), MOST)
        self.recent = [*self.recent, rate][-RECENT:]
        self._weigh()

    def _weigh(self) -> None:
        self.evidence = float((self.first_SM.mean(0) * self.later_SM.mean(0)).min())

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON."""
        return {"first": self.first_SM.tolist(), "later": self.later_SM.tolist(), "recent": self.recent}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restores what `state` gave."""
        self.first_SM, self.later_SM = np.array(state["first"]), np.array(state["later"])
        self.recent = list(state["recent"])
        if self.recent:
            self._weigh()
