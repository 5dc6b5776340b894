"""Guarded updates: the reward model may not become worse on a frozen anchor set and on known hacks than it has been.

No published system has this. Each update is tried on a small sample of the anchors and probes that moves on from step
to step; a fall on it, or every `guard_steps` updates, calls for the whole set. A fall there beyond the tolerance from
the best level so far takes the reward model back, weights and optimiser, to the last state that passed on the whole
set. The level is a moving average: the best of many single checks is luck, and a guard that asks for it takes back
every update of a long run (docs/decisions/0004-the-best-so-far.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from cooper_rl.engines.trl.config import CooperConfig
from cooper_rl.records import ContrastivePair, LabelledCompletion, Problem
from cooper_rl.synthesis.probes import probe_triples
from cooper_rl.verifyrm.updater import RewardModelUpdater

logger = logging.getLogger(__name__)
SMOOTHING = 0.2  # what a check counts in the level: about the last five are in it
STANDS_STILL = 5  # checks in a row that took updates back, after which the user is told


@dataclass(frozen=True)
class Standing:
    """How the reward model stands on the anchors and the probes, or on a sample of them."""

    anchor_accuracy: float  # balanced, at a score of 0.5
    probe_pass_rate: float  # share of the probes that are rejected

    def below(self, other: Standing, config: CooperConfig) -> bool:
        """Whether either figure is lower than the other's by more than its tolerance."""
        return (
            self.anchor_accuracy < other.anchor_accuracy - config.guard_tolerance
            or self.probe_pass_rate < other.probe_pass_rate - config.guard_probe_tolerance
        )

    def towards(self, other: Standing, share: float) -> Standing:
        """This standing moved by a share of the way to the other's figures."""
        return Standing(
            self.anchor_accuracy + share * (other.anchor_accuracy - self.anchor_accuracy),
            self.probe_pass_rate + share * (other.probe_pass_rate - self.probe_pass_rate),
        )

    def best_of(self, other: Standing) -> Standing:
        """The higher of each figure."""
        return Standing(
            max(self.anchor_accuracy, other.anchor_accuracy), max(self.probe_pass_rate, other.probe_pass_rate)
        )


class Guard:
    """Watches one `RewardModelUpdater`; `check` after each of its steps, with `whole` before each checkpoint.

    Every rank holds its share of the set, and all ranks decide from the same sums.

    Args:
        anchors: labelled triples that nothing is trained on; their first questions make the probes.
    """

    def __init__(
        self, updater: RewardModelUpdater, config: CooperConfig, anchors: Sequence[LabelledCompletion]
    ) -> None:
        self.updater = updater
        self.config = config
        self.accelerator = updater.accelerator
        rank, ranks = self.accelerator.process_index, self.accelerator.num_processes
        questions = {t.question: Problem(t.question, t.reference_answer) for t in anchors}
        kinds = probe_triples(list(questions.values())[: config.guard_probes], seed=config.seed)
        probes = [triple for triples in kinds.values() for triple in triples]
        own_anchors, own_probes = anchors[rank::ranks], probes[rank::ranks]
        self.triples = [*own_anchors, *own_probes]
        self.is_probe_N = torch.arange(len(self.triples)) >= len(own_anchors)
        self.label_N = torch.tensor([t.correct for t in self.triples])
        self.order = torch.randperm(len(self.triples), generator=torch.Generator().manual_seed(config.seed))
        self.tried: list[ContrastivePair] = []  # of the updates since the last whole set
        self.updates = self.taken_back_in_a_row = 0
        self.level = self.best = Standing(0.0, 0.0)

    def begin(self) -> None:
        """Measures the reward model as it is: the state that updates are taken back to."""
        self.right_N, self.level = self._whole()
        self.best, self.approved = self.level, self.updater.snapshot()

    def check(self, *, whole: bool = False) -> tuple[dict[str, float], list[ContrastivePair]]:
        """After an update, whose pairs are in `tried`: the metrics, and the pairs of the updates taken back, if any."""
        started = time.perf_counter()
        self.updates += 1
        whole = whole or self.updates % self.config.guard_steps == 0
        metrics = {"reward_model/rolled_back": 0.0}
        taken_back: list[ContrastivePair] = []
        if whole or self._sample_falls():
            right_N, standing = self._whole()
            metrics["reward_model/anchor_accuracy"] = standing.anchor_accuracy
            metrics["reward_model/probe_pass_rate"] = standing.probe_pass_rate
            if standing.below(self.best, self.config):
                self.updater.restore(self.approved)
                metrics["reward_model/rolled_back"] = 1.0
                taken_back = self.tried
                self._count_taken_back()
            else:
                self.taken_back_in_a_row = 0
                self.right_N, self.approved = right_N, self.updater.snapshot()
                self.level = self.level.towards(standing, SMOOTHING)
                self.best = self.level.best_of(self.best)
            self.tried = []
        metrics["time/guard_seconds"] = time.perf_counter() - started
        return metrics, taken_back

    def _whole(self) -> tuple[Tensor, Standing]:
        """The reward model on this rank's whole share, and how it stands on the whole set."""
        rows = torch.arange(len(self.triples))
        right_N = self._right(rows)
        return right_N, self._standing(right_N, rows)

    def _count_taken_back(self) -> None:
        self.taken_back_in_a_row += 1
        if self.taken_back_in_a_row == STANDS_STILL and self.accelerator.is_main_process:
            logger.warning(
                "the guard took the updates of the last %d checks back: the reward model stands still, as a frozen one"
                " does; look at rolled_back/, or raise guard_tolerance or guard_probe_tolerance",
                STANDS_STILL,
            )

    def _sample_falls(self) -> bool:
        """Whether the sample of this update is judged worse than the approved state judged the same triples."""
        size = min(self.config.guard_sample, len(self.order))
        if not size:
            return False
        rows = self.order[(torch.arange(size) + self.updates * size) % len(self.order)]
        before = self._standing(self.right_N[rows], rows)
        return self._standing(self._right(rows), rows).below(before, self.config)

    def _right(self, rows: Tensor) -> Tensor:
        """Whether the reward model, at 0.5, is right on these triples; bool, (rows,)."""
        triples = [self.triples[i] for i in rows.tolist()]
        scores_B = self.updater.reward_model.score(
            [t.question for t in triples], [t.reference_answer for t in triples], [t.completion for t in triples]
        )
        return (scores_B > 0.5) == self.label_N[rows]

    def _standing(self, right_B: Tensor, rows: Tensor) -> Standing:
        """The figures over all ranks; 1 where a sample holds nothing of a kind."""
        probe_B, label_B = self.is_probe_N[rows], self.label_N[rows]
        groups = (~probe_B & label_B, ~probe_B & ~label_B, probe_B)
        counts = torch.tensor([[float((right_B & g).sum()), float(g.sum())] for g in groups])
        right, total = self.accelerator.reduce(counts.to(self.accelerator.device), "sum").cpu().unbind(1)
        shares = torch.where(total > 0, right / total.clamp(min=1), 1.0).tolist()
        return Standing((shares[0] + shares[1]) / 2, shares[2])

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the reward model, which is an approved one there."""
        return {
            "updates": self.updates,
            "taken_back_in_a_row": self.taken_back_in_a_row,
            "level": asdict(self.level),
            "best": asdict(self.best),
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Goes on from a checkpoint whose reward model is loaded already."""
        self.begin()
        self.updates, self.taken_back_in_a_row = int(state["updates"]), int(state["taken_back_in_a_row"])
        self.level, self.best = Standing(**state["level"]), Standing(**state["best"])
