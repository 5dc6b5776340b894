"""What a batch tells about its verdicts: equal answers get equal ones, and some wrong ones are doubted. (Ours.)

Agreement. Whether a rule finds an answer depends on the words around it, so of two completions with the same answer
one may be judged and the other left open. Only answers with the same text are taken for the same. Letting the verifier
compare the open answer with a right one of its group was tried: of what it called different 5 % were right
(docs/verifier.md).

Doubt. A rule verifier calls some right answers INCORRECT. Mining makes this worse: it takes the completions that the
reward model scores highest, and with a good reward model these are the rule's own mistakes. So a completion is held
back from stage 2 where it is too probable that it is right.

The estimate. For each right completion that the rule calls CORRECT it calls about m right ones INCORRECT
(`rule_misses_per_hit`). The policy and the reward model treat these as they treat the CORRECT ones. Among the run's
recent rollouts that are like a doubtful one, let C be CORRECT and I be doubtful. About m C of the I are then right:

    P(right) = min(1, m C / I)

Two witnesses decide which rollouts are like it: those with a `score` near its own, and those whose answer has at least
as large a `share` of their group.

The score is by the reward model as it was when the run began. A right completion that was once taught as wrong would
score low from then on. It would be mined again for that, and be unlearned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import fmean
from typing import Any

import numpy as np

from cooper_rl.method.monitor import Monitor
from cooper_rl.method.protocols import Ranks, RewardModel
from cooper_rl.method.reward import Reward
from cooper_rl.records import Batch, Reason, Report, Rollout, Sample, Verdict, Verification

Weigh = Callable[[Sequence[Rollout]], list[tuple[float, str]]]
REASONS = {Verdict.CORRECT: Reason.MATCH, Verdict.INCORRECT: Reason.MISMATCH}
WINDOW_STEPS = 20  # the rollouts of this many last steps are compared
NEIGHBOURS = 20  # doubtful rollouts that are compared with each one, the nearest by score, and at least
MIN_DISTANCE = 0.5  # all that are as near in logits as this
EDGE = 1e-6  # scores are moved this far from 0 and 1, where the logit is infinite
DECIMALS = 1  # logits are compared in tenths, so that rounding errors, which differ between ranks, do not show
PER_LOGIT = 10**DECIMALS

Row = tuple[int, bool, float, float]  # of a judged rollout: step, whether it is CORRECT, the score's logit, the share


def complete(
    judged: Sequence[tuple[Rollout, float | None]], size: int, reward: Reward, weigh: Weigh | None = None
) -> list[Rollout]:
    """Rollouts with all that only their batch can tell: their groups, verdicts that agree, rewards and doubts.

    Args:
        judged: the rollouts of all ranks with their start scores.
        size: rollouts of a group; those of one prompt follow one another, where their group has no number yet.
        reward: rewards what is settled here. Other rollouts keep the reward that they had.
        weigh: `Doubt.weigh` of the step; None where nothing is taught.
    """
    samples = [r.sample if r.group >= 0 else replace(r.sample, group=i // size) for i, (r, _) in enumerate(judged)]
    agreed = agree(samples, [rollout.verification for rollout, _ in judged])
    rollouts = []
    for (rollout, start_score), sample, found in zip(judged, samples, agreed, strict=True):
        own = rollout.reward if found is rollout.verification else reward.of(found, rollout.score)
        rollouts.append(replace(rollout, sample=sample, verification=found, reward=own, start_score=start_score))
    if weigh is None:
        return rollouts
    doubts = zip(rollouts, weigh(rollouts), strict=True)
    return [replace(rollout, right_estimate=right, held_back=by) for rollout, (right, by) in doubts]


def agree(samples: Sequence[Sample], verifications: Sequence[Verification]) -> list[Verification]:
    """The verifications, each open one settled where its group can.

    An open one has an answer in a form that the rules cannot read. It gets the verdict of the judged completions of
    its group that state the same answer. Where these do not agree it stays open.

    Args:
        samples: those of a batch, with the numbers of their groups.
    """
    verdicts: dict[tuple[int, str | None], set[Verdict]] = {}
    for sample, found in zip(samples, verifications, strict=True):
        if found.verdict is Verdict.CORRECT or found.doubtful:
            verdicts.setdefault((sample.group, found.answer), set()).add(found.verdict)
    return [
        _settle(found, verdicts.get((sample.group, found.answer), set()))
        for sample, found in zip(samples, verifications, strict=True)
    ]


def _settle(found: Verification, verdicts: set[Verdict]) -> Verification:
    if found.reason is not Reason.UNKNOWN_FORM or found.answer is None or len(verdicts) != 1:
        return found
    (verdict,) = verdicts
    return replace(found, verdict=verdict, reason=REASONS[verdict])


def shares(rollouts: Sequence[Rollout]) -> list[float]:
    """The share of each rollout's group that states the same answer, itself included."""
    sizes = Counter(rollout.group for rollout in rollouts)
    counts = Counter((rollout.group, rollout.answer) for rollout in rollouts)
    return [(counts[r.group, r.answer] if r.answer is not None else 1) / sizes[r.group] for r in rollouts]


class Doubt(Monitor):
    """Estimates of one run, from its last `WINDOW_STEPS` steps. Every rank makes the same ones.

    `Cooper.score` lets it weigh the rollouts of a batch. Once the batch has been learned from, it remembers them.

    Args:
        misses_per_hit: how many right completions the rule calls INCORRECT for each one that it calls CORRECT.
        max_right: a completion is held back where the estimate is above this; 1 holds nothing back.
        reward_model: asked for `start_scores`, if it has them. Without them the present scores are compared.
    """

    name = "doubt"

    def __init__(self, misses_per_hit: float, max_right: float, reward_model: RewardModel | None = None) -> None:
        self.misses_per_hit, self.max_right = misses_per_hit, max_right
        self.reward_model = reward_model
        self.scorer = getattr(reward_model, "start_scores", None) if max_right < 1 else None
        self.seen: list[Row] = []

    def start_scores(self, judged: Batch, ranks: Ranks, *, by_steps: bool) -> list[float | None]:
        """The rollouts' scores by the reward model as it was when the run began; None where nothing asks for them.

        Before the first update they are those that it has just given: under their only answer, and all at once.

        Args:
            by_steps: it gave them in one pass with the values of steps, whose rounding is another.
        """
        if not self.scorer or not self.reward_model:
            return [None] * len(judged.rollouts)
        if judged.version == self.reward_model.version == 0:
            others = by_steps or any(len(rollout.sample.references) > 1 for rollout in judged.rollouts)
            if not ranks.add_up([float(others)])[0]:
                return [rollout.score for rollout in judged.rollouts]
        return list(self.scorer(judged.rollouts))

    def weigh(self, rollouts: Sequence[Rollout], step: int) -> list[tuple[float, str]]:
        """P(right) of each rollout of a step, and by which witnesses it is held back; (0, "") without a doubt."""
        neighbours = Neighbours(np.array(self.window(rollouts, step), dtype=np.float64).reshape(-1, 4))
        weigh = cache(partial(self._weigh, neighbours))  # many rollouts are at one place
        places = zip(rollouts, logits(rollouts), shares(rollouts), strict=True)
        return [weigh(logit, share) if rollout.verification.doubtful else (0.0, "") for rollout, logit, share in places]

    def _weigh(self, neighbours: Neighbours, logit: float, share: float) -> tuple[float, str]:
        places = {"together": (logit, share), "score": (logit, None), "agreement": (None, share)}
        found = {name: neighbours.estimate(self.misses_per_hit, *place) for name, place in places.items()}
        alone = "+".join(name for name in ("score", "agreement") if found[name] > self.max_right)
        return found["together"], (alone or "together") if found["together"] > self.max_right else ""

    def window(self, rollouts: Sequence[Rollout], step: int) -> list[Row]:
        """What is compared at a step: the judged rollouts of the steps before it, and these of its own."""
        rows = [
            (step, rollout.verdict is Verdict.CORRECT, logit, share)
            for rollout, logit, share in zip(rollouts, logits(rollouts), shares(rollouts), strict=True)
            if rollout.verdict is Verdict.CORRECT or rollout.verification.doubtful
        ]
        return [row for row in self.seen if step - WINDOW_STEPS < row[0] < step] + rows

    def after(self, report: Report, *, whole: bool) -> Report:
        assert report.batch
        self.seen = self.window(report.batch.rollouts, report.batch.step)
        return report.having(held_back_metrics(report.batch.rollouts))

    def state(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load_state(self, state: dict[str, Any]) -> None:
        self.seen = [(int(step), bool(correct), logit, share) for step, correct, logit, share in state["seen"]]


class Neighbours:
    """How many rollouts are like one at a place, counted once for a step: its time is near linear in the rollouts.

    Logits are tenths, and shares are few, so a table of both holds all that matters. Sums over it answer each question.

    Args:
        seen_N4: the rollouts to compare with, as rows of `Doubt.window`.
    """

    def __init__(self, seen_N4: np.ndarray) -> None:
        place_N = np.rint(PER_LOGIT * seen_N4[:, 2]).astype(int)
        self.shares, share_N = np.unique(seen_N4[:, 3], return_inverse=True)
        self.first = int(place_N.min(initial=0))
        self.width = int(place_N.max(initial=0)) - self.first + 1
        counts = np.zeros((2, len(self.shares) + 1, self.width + 1), dtype=int)
        np.add.at(counts, (seen_N4[:, 1].astype(int), share_N, place_N - self.first + 1), 1)
        self.below = counts[:, ::-1].cumsum(1)[:, ::-1].cumsum(2)  # of doubtful and CORRECT: by least share, then logit

    def estimate(self, misses_per_hit: float, logit: float | None, share: float | None) -> float:
        """P(right) of a doubtful rollout at this place. With None the witness is not asked."""
        doubtful_W, hits_W = self.below[:, 0 if share is None else int(np.searchsorted(self.shares, share))]
        first, last = 0, self.width
        if logit is not None:
            centre = round(PER_LOGIT * logit) - self.first
            radius_R = np.arange(max(abs(centre), abs(self.width - centre)) + 1)
            lows, highs = (np.clip(side, 0, self.width) for side in (centre - radius_R, centre + radius_R + 1))
            within_R = doubtful_W[highs] - doubtful_W[lows]
            nearest = int(np.searchsorted(within_R, min(NEIGHBOURS, within_R[-1])))
            radius = max(round(PER_LOGIT * MIN_DISTANCE), nearest)
            first, last = (min(max(side, 0), self.width) for side in (centre - radius, centre + radius + 1))
        hits, doubtful = int(hits_W[last] - hits_W[first]), int(doubtful_W[last] - doubtful_W[first])
        return min(1.0, misses_per_hit * hits / max(1, doubtful))


def logits(rollouts: Sequence[Rollout]) -> list[float]:
    """The logit of each rollout's score as the run began, else of its present one, rounded; 0 where there is none."""
    scores = [rollout.score if rollout.start_score is None else rollout.start_score for rollout in rollouts]
    score_N = np.nan_to_num(np.array(scores, dtype=np.float64), nan=0.5)
    score_N = np.clip(score_N, EDGE, 1 - EDGE)
    logit_N: list[float] = np.log(score_N / (1 - score_N)).round(DECIMALS).tolist()
    return logit_N


def held_back_metrics(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """How many of a step's rollouts were held back, and how many the score or the agreement alone would have.

    `pairs/replayed_right_estimate` is the mean estimate of those that count as wrong and were not held back.
    """
    held_back = [rollout.held_back for rollout in rollouts if rollout.held_back]
    taught = [rollout.right_estimate for rollout in rollouts if rollout.teachable_as_wrong]
    return {
        "pairs/held_back": float(len(held_back)),
        **{
            f"pairs/held_back_{name}": float(sum(name in each for each in held_back)) for name in ("score", "agreement")
        },
        **({"pairs/replayed_right_estimate": fmean(taught)} if taught else {}),
    }
