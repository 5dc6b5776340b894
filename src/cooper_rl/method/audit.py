"""The audit: what the reward model makes of the policy's fresh rollouts, beside the rule. (Ours, not the paper's.)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

from cooper_rl.method.monitor import Monitor
from cooper_rl.records import THRESHOLD, Reason, Report, Rollout, Verdict

Z_95 = NormalDist().inv_cdf(0.975)


class Audit(Monitor):
    """Logs the metrics of each step's rollouts.

    Args:
        misses_per_hit: right completions that the rule calls INCORRECT, for each that it calls CORRECT.
    """

    name = "audit"

    def __init__(self, misses_per_hit: float = 0.0) -> None:
        self.misses_per_hit = misses_per_hit

    def after(self, report: Report, *, whole: bool) -> Report:
        assert report.batch
        return report.having(rollout_metrics(report.batch.rollouts, self.misses_per_hit))


def rollout_metrics(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """What the rule and the reward model say of a step's rollouts, beside each other; shares from 0 to 1."""
    count = len(rollouts)

    def share(verdict: Verdict) -> float:
        return sum(r.verdict is verdict for r in rollouts) / count

    return {
        "accuracy/rule": share(Verdict.CORRECT),
        "verifier/unparseable_rate": share(Verdict.UNPARSEABLE),
        "verifier/timeout_rate": share(Verdict.TIMEOUT),
        "verifier/no_answer_rate": sum(r.reason is Reason.NO_ANSWER for r in rollouts) / count,
        "hacking/gap": sum(r.reward for r in rollouts) / count - share(Verdict.CORRECT),
        "hacking/several_answers_rate": sum(r.several_answers for r in rollouts) / count,
        **false_positives(rollouts, misses_per_hit),
    }


def false_positives(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """The reward model's false-positive rate on rollouts and its 95 % interval (Wilson's, completions as independent).

    A completion counts as wrong where the rule says INCORRECT or finds no answer. Some of these are right: about
    `misses_per_hit` for each CORRECT one, and the reward model accepts them as often as it does the CORRECT ones. Both
    the count and the acceptances are corrected by them. Empty where no rollout is scored and wrong.
    """
    scored = [r for r in rollouts if not math.isnan(r.score)]
    wrong = [r.score > THRESHOLD for r in scored if r.verification.surely_wrong]
    right = [r.score > THRESHOLD for r in scored if r.verdict is Verdict.CORRECT]
    missed = misses_per_hit * len(right)  # expected right ones among `wrong`
    if len(wrong) <= missed:
        return {}
    recall = fmean(right) if right else 1.0
    name = "hacking/false_positive_rate"
    measured = (fmean(wrong), *wilson(sum(wrong), len(wrong)))
    rate, low, high = (
        min(1.0, max(0.0, (share * len(wrong) - missed * recall) / (len(wrong) - missed))) for share in measured
    )
    return {name: rate, f"{name}_low": low, f"{name}_high": high}


def wilson(hits: int, count: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)
