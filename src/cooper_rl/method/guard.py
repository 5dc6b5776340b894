"""Guarded updates: an update that makes the reward model worse is rolled back. (Ours, not the paper's.)

The guard measures the reward model on a frozen set: labelled anchors, and probes that imitate known hacks. Each update
is checked on a small sample of the set, drawn anew every step. The whole set is checked where the sample got worse, and
after every `guard_steps` updates. If the whole set shows a fall by more than the tolerance, weights and optimiser are
rolled back to the last state that passed.

The fall is measured from the best level so far, where the level is a moving average of the checks. The best of many
single checks would be luck: a guard that asks for it rolls back every update of a long run
(docs/decisions/0004-the-best-so-far.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cooper_rl.method.monitor import Monitor
from cooper_rl.method.protocols import Alone, Ranks, RewardModel
from cooper_rl.records import THRESHOLD, ContrastivePair, LabelledCompletion, Problem, Report
from cooper_rl.synthesis.augment import probe_triples

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

logger = logging.getLogger(__name__)
ROUNDING = 1e-9  # a fall of exactly the tolerance is within it
SMOOTHING = 0.2  # weight of the newest check in the moving average, which is about the mean of the last five
FROZEN_AFTER = 5  # the user is warned after this many checks in a row that rolled updates back


@dataclass(frozen=True)
class Standing:
    """How the reward model does on the anchors and the probes, or on a sample of them; shares from 0 to 1."""

    anchor_accuracy: float  # balanced, at a score of 0.5
    probe_pass_rate: float  # share of the probes that are rejected

    def below(self, other: Standing, settings: MethodSettings) -> bool:
        """Whether either metric is lower than the other's by more than its tolerance."""
        return bool(
            self.anchor_accuracy < other.anchor_accuracy - settings.guard_tolerance - ROUNDING
            or self.probe_pass_rate < other.probe_pass_rate - settings.guard_probe_tolerance - ROUNDING
        )

    def towards(self, other: Standing, share: float) -> Standing:
        """This standing moved by a share of the way to the other."""
        return Standing(
            self.anchor_accuracy + share * (other.anchor_accuracy - self.anchor_accuracy),
            self.probe_pass_rate + share * (other.probe_pass_rate - self.probe_pass_rate),
        )

    def best_of(self, other: Standing) -> Standing:
        """The higher of each metric."""
        return Standing(
            max(self.anchor_accuracy, other.anchor_accuracy), max(self.probe_pass_rate, other.probe_pass_rate)
        )


class Guard(Monitor):
    """Keeps or rolls back the updates of one reward model. It runs last, so that the others see what the update did.

    Every rank scores its share of the set, and all ranks decide from the same sums.

    Args:
        anchors: labelled triples that nothing is trained on; their first questions make the probes.
    """

    name = "guard"

    def __init__(
        self,
        settings: MethodSettings,
        reward_model: RewardModel,
        anchors: Sequence[LabelledCompletion],
        ranks: Ranks | None = None,
    ) -> None:
        self.settings = settings
        self.reward_model = reward_model
        self.ranks = ranks or Alone()
        questions = {t.question: Problem(t.question, t.reference_answer) for t in anchors}
        kinds = probe_triples(list(questions.values())[: settings.guard_probes], seed=settings.seed)
        probes = [triple for triples in kinds.values() for triple in triples]
        own_anchors = anchors[self.ranks.rank :: self.ranks.size]
        self.triples = [*own_anchors, *probes[self.ranks.rank :: self.ranks.size]]
        self.is_probe_N = np.arange(len(self.triples)) >= len(own_anchors)
        self.label_N = np.array([t.correct for t in self.triples], dtype=bool)
        self.order = permutation(len(self.triples), settings.seed)
        self.tried: list[ContrastivePair] = []  # pairs of the updates since the last check of the whole set
        self.updates = self.rolled_back_in_a_row = 0
        self.level = self.best = Standing(0.0, 0.0)

    def begin(self) -> None:
        """Measures the reward model before the first update. Updates are rolled back to this state."""
        self.right_N, self.level = self._whole()
        self.best = self.level
        self._approve()

    def after(self, report: Report, *, whole: bool) -> Report:
        """Keeps the step's update, or rolls it back with all updates since the last check of the whole set.

        A step without a pair changes nothing. After such a step the whole set is checked only before a save or a stop,
        and only if updates are still unchecked.
        """
        started = time.perf_counter()
        metrics = {"reward_model/rolled_back": 0.0}
        moved = bool(report.pairs)
        self.tried += report.pairs
        self.updates += moved
        whole = (whole or report.stop) and bool(self.tried)
        whole = whole or (moved and self.updates % self.settings.guard_steps == 0)
        rolled_back: list[ContrastivePair] = []
        if whole or (moved and self._sample_falls()):
            right_N, standing = self._whole()
            metrics["reward_model/anchor_accuracy"] = standing.anchor_accuracy
            metrics["reward_model/probe_pass_rate"] = standing.probe_pass_rate
            if standing.below(self.best, self.settings):
                self.reward_model.restore(self.approved)
                metrics["reward_model/rolled_back"] = 1.0
                rolled_back = self.tried
                self._count_rolled_back()
            else:
                self.rolled_back_in_a_row = 0
                self.right_N = right_N
                self._approve()
                self.level = self.level.towards(standing, SMOOTHING)
                self.best = self.level.best_of(self.best)
            self.tried = []
        metrics["time/guard_seconds"] = time.perf_counter() - started
        return report.having(metrics, rolled_back=tuple(rolled_back))

    def before_save(self, report: Report) -> Report:
        """Only a reward model that passed on the whole set is saved."""
        return self.after(report, whole=True)

    def _approve(self) -> None:
        """Makes the present state the one to go back to. The one before is freed first: both may be 20 GB and more."""
        self.approved: Any = None
        self.approved = self.reward_model.snapshot()

    def _whole(self) -> tuple[np.ndarray, Standing]:
        """Which triples of this rank's share the reward model gets right, and its metrics over all ranks."""
        rows = np.arange(len(self.triples))
        right_N = self._right(rows)
        return right_N, self._standing(right_N, rows)

    def _count_rolled_back(self) -> None:
        self.rolled_back_in_a_row += 1
        if self.rolled_back_in_a_row == FROZEN_AFTER and self.ranks.rank == 0:
            logger.warning(
                "the guard rolled back the updates of the last %d checks, so the reward model hardly changes any more;"
                " look at rolled_back/, or raise guard_tolerance or guard_probe_tolerance",
                FROZEN_AFTER,
            )

    def _sample_falls(self) -> bool:
        """Whether the reward model is worse on this step's sample than the last approved state was on it."""
        if not self.settings.guard_sample:
            return False
        size = min(self.settings.guard_sample, len(self.order))  # 0 on a rank without a share: it sums with the others
        rows = self.order[(np.arange(size) + self.updates * size) % max(1, len(self.order))]
        before = self._standing(self.right_N[rows], rows)
        return self._standing(self._right(rows), rows).below(before, self.settings)

    def _right(self, rows: np.ndarray) -> np.ndarray:
        """Whether the reward model is right about these triples; bool, shape (rows,)."""
        scores_B = np.array(self.reward_model.score([self.triples[i] for i in rows]))
        right_B: np.ndarray = (scores_B > THRESHOLD) == self.label_N[rows]
        return right_B

    def _standing(self, right_B: np.ndarray, rows: np.ndarray) -> Standing:
        """The metrics over all ranks. A metric is 1 where the sample holds no triple of its kind."""
        probe_B, label_B = self.is_probe_N[rows], self.label_N[rows]
        groups = (~probe_B & label_B, ~probe_B & ~label_B, probe_B)
        counts = [float(count) for group in groups for count in ((right_B & group).sum(), group.sum())]
        summed = np.array(self.ranks.add_up(counts), dtype=np.float64).reshape(-1, 2)
        right, total = summed[:, 0], summed[:, 1]
        shares = np.where(total > 0, right / np.maximum(total, 1), 1.0).tolist()
        return Standing((shares[0] + shares[1]) / 2, shares[2])

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps: the guard's levels. The reward model saved beside it has passed the whole set."""
        return {
            "updates": self.updates,
            "rolled_back_in_a_row": self.rolled_back_in_a_row,
            "level": asdict(self.level),
            "best": asdict(self.best),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.begin()
        self.updates, self.rolled_back_in_a_row = int(state["updates"]), int(state["rolled_back_in_a_row"])
        self.level, self.best = Standing(**state["level"]), Standing(**state["best"])


def permutation(size: int, seed: int) -> np.ndarray:
    """The numbers below `size` in an order that depends on the seed alone: Fisher and Yates on a Mersenne twister."""
    order = np.arange(size)
    rng = np.random.MT19937()
    rng._legacy_seeding(seed)
    for place in range(size - 1):
        other = place + int(rng.random_raw()) % (size - place)
        order[place], order[other] = order[other], order[place]
    return order
