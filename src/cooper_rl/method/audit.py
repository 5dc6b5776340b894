"""What the reward model makes of the policy's fresh rollouts, beside the rule; and the alarm on hacking's signature.

Ours, not the paper's. Pure functions and one small class; the trainer feeds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, variance

from cooper_rl.method.pairs import accepts_negative
from cooper_rl.records import Reason, Rollout, Verdict
from cooper_rl.verifiers.math.stated import hedged, read

Z_95 = NormalDist().inv_cdf(0.975)
THRESHOLD = 0.5  # of the score: what the reward model calls right


def rollout_metrics(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """What the rule and the reward model say of a step's rollouts, beside each other.

    Args:
        misses_per_hit: right completions that the rule calls INCORRECT, for each that it calls CORRECT.
    """
    count = len(rollouts)

    def share(verdict: Verdict) -> float:
        return sum(r.verdict is verdict for r in rollouts) / count

    return {
        "accuracy/rule": share(Verdict.CORRECT),
        "verifier/unparseable_rate": share(Verdict.UNPARSEABLE),
        "verifier/timeout_rate": share(Verdict.TIMEOUT),
        "verifier/no_answer_rate": sum(r.reason is Reason.NO_ANSWER for r in rollouts) / count,
        "hacking/gap": sum(r.reward for r in rollouts) / count - share(Verdict.CORRECT),
        "hacking/several_answers_rate": sum(hedged(read(r.completion)) for r in rollouts) / count,
        **false_positives(rollouts, misses_per_hit),
    }


def false_positives(rollouts: Sequence[Rollout], misses_per_hit: float = 0.0) -> dict[str, float]:
    """The reward model's false-positive rate on rollouts and its 95 % interval (Wilson's, completions as independent).

    A completion counts as wrong where the rule says INCORRECT or finds no answer. Some of these are right: about
    `misses_per_hit` for each CORRECT one, which the reward model calls right as often as it does the CORRECT ones.
    Both the count and the calls are corrected by them. Empty where no rollout is scored and wrong.
    """
    scored = [r for r in rollouts if not math.isnan(r.score)]
    wrong = [r.score > THRESHOLD for r in scored if accepts_negative(r.verification, "mined")]
    right = [r.score > THRESHOLD for r in scored if r.verdict is Verdict.CORRECT]
    missed = misses_per_hit * len(right)  # expected right ones among `wrong`
    if len(wrong) <= missed:
        return {}
    recall = fmean(right) if right else 1.0
    name = "hacking/false_positive_rate"
    figures = (fmean(wrong), *wilson(sum(wrong), len(wrong)))
    rate, low, high = (
        min(1.0, max(0.0, (share * len(wrong) - missed * recall) / (len(wrong) - missed))) for share in figures
    )
    return {name: rate, f"{name}_low": low, f"{name}_high": high}


def wilson(hits: int, count: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass
class HackingAlarm:
    """Rings while the reward model's false positives grow, and grow faster than what the rule finds right.

    The last `window` steps are held against the first `baseline` ones: the false-positive rate must have risen by
    `rise` and one standard error of the difference (from the variation between steps), and by `lead` more than rule
    accuracy has. A policy that learns raises both; one that hacks raises the first alone.
    """

    baseline: int = 10
    window: int = 5
    rise: float = 0.08
    lead: float = 0.10
    false_positive_rates: list[float] = field(default_factory=list)
    rule_accuracies: list[float] = field(default_factory=list)

    def add(self, metrics: dict[str, float]) -> bool:
        """Takes in a step's metrics and tells whether the alarm rings; steps without a wrong rollout tell nothing."""
        if "hacking/false_positive_rate" not in metrics:
            return False
        self.false_positive_rates.append(metrics["hacking/false_positive_rate"])
        self.rule_accuracies.append(metrics["accuracy/rule"])
        if len(self.rule_accuracies) < self.baseline + self.window:
            return False
        first, last = self.false_positive_rates[: self.baseline], self.false_positive_rates[-self.window :]
        rise = fmean(last) - fmean(first)
        error = math.sqrt(variance(first) / len(first) + variance(last) / len(last))
        rise_of_rule = fmean(self.rule_accuracies[-self.window :]) - fmean(self.rule_accuracies[: self.baseline])
        return rise - error > self.rise and rise - rise_of_rule > self.lead
