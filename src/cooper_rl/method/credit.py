"""Credit: what part of a completion's advantage each of its steps gets. (Ours, not the paper's.)

In a group, A_i is the advantage of completion i, and v_is the value after its step s: the reward model's probability
that the completion will be right. The value after the last step is the score. w is `credit_weight`.

    outcome         A_is = A_i
    first_error     A_is = 0 where A_i < 0 and s comes before the first step with v < 0.5, else A_i (VPPO, 2601.18984)
    centred         A_is = A_i + w (v_is - mean v), over the group's steps with A of the same sign (PROGRS, 2604.02341)
    difference      A_is = A_i + w (v_is - v_i(s-1)), where v_i0 is the group's mean score
    reference_gain  as difference, v being the policy's probability of the reference answer (GRPO-VPS, 2604.20659)
    random          as centred, with the group's own parts shuffled over its steps
    shared_prefix   A_is = mean A of the group's completions that begin as i does up to step s

In a group whose advantages are all 0 every step gets 0: without an outcome to tell apart, values alone teach nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, cast

from cooper_rl.errors import BadInputError
from cooper_rl.method.reward_model import RewardModel, ValuesSteps
from cooper_rl.method.world import World
from cooper_rl.records import THRESHOLD, Batch, Rollout, Sample
from cooper_rl.settings.method import VALUED_BY_MODEL
from cooper_rl.steps import first_below, step_ends

if TYPE_CHECKING:
    from cooper_rl.settings.method import MethodSettings

Ends = Sequence[Sequence[int]]
Values = Sequence[Sequence[float]]
PolicyValues = Callable[[Ends], Values]  # values of steps by the policy, where they end


class Credit:
    """Values the steps of completions, and shares their advantages out."""

    def __init__(self, settings: MethodSettings, reward_model: RewardModel | None, world: World) -> None:
        self.settings, self.reward_model, self.world = settings, reward_model, world
        self.valued_by_model = settings.credit in VALUED_BY_MODEL
        if self.valued_by_model and not hasattr(reward_model, "step_values"):
            raise BadInputError(f"credit = {settings.credit}: it needs a reward model that values steps; set outcome")

    def score_steps(
        self, samples: Sequence[Sample], policy_values: PolicyValues | None = None
    ) -> tuple[Sequence[float], Ends, Values]:
        """The steps' ends and their values, and the scores where both come from one pass of the reward model.

        Args:
            policy_values: gives the values that `reference_gain` needs.

        Returns:
            Scores, ends, values. The scores are empty where the reward model values no steps.
        """
        nothing: Ends = [()] * len(samples)
        if self.settings.credit == "outcome":
            return (), nothing, nothing
        ends = [tuple(step_ends(sample.completion, self.settings.credit_steps)) for sample in samples]
        if not self.valued_by_model:
            by_policy = self.settings.credit == "reference_gain" and policy_values
            return (), ends, [tuple(values_S) for values_S in by_policy(ends)] if by_policy else nothing
        whole = [ends_S or (len(sample.completion),) for ends_S, sample in zip(ends, samples, strict=True)]
        found = cast(ValuesSteps, self.reward_model).step_values(samples, whole)
        scores = [values_S[-1] for values_S in found]
        return scores, ends, [tuple(values_S[: len(ends_S)]) for values_S, ends_S in zip(found, ends, strict=True)]

    def of(self, batch: Batch, advantages: Sequence[float]) -> list[list[tuple[int, float]]]:
        """Where the steps of this rank's samples end, and the advantage of each.

        Args:
            advantages: those of this rank's samples. Every rank makes this call.
        """
        ranks = self.world.gather([list(advantages)])
        flat = iter([advantage for rank in ranks for advantage in rank])
        rng = random.Random(f"credit-{self.settings.seed}-{batch.step}")
        found = []
        for group in batch.groups().values():
            own = [next(flat) for _ in group]
            steps = step_advantages(self.settings.credit, group, own, self.settings.credit_weight, rng)
            found += [list(zip(r.step_ends, steps_S, strict=True)) for r, steps_S in zip(group, steps, strict=True)]
        first = sum(map(len, ranks[: self.world.rank]))
        return found[first : first + len(advantages)]


def step_advantages(
    credit: str, group: Sequence[Rollout], advantages: Sequence[float], weight: float, rng: random.Random
) -> list[list[float]]:
    """The advantage of each step of a group's rollouts, by the equations above.

    Args:
        credit: the setting of this name.
        advantages: those of the rollouts, which GRPO gave them.
        weight: `credit_weight`.
        rng: shuffles for `random`.
    """
    outcome = [[a] * len(r.step_ends) for r, a in zip(group, advantages, strict=True)]
    if credit == "outcome" or not any(advantages) or len({rollout.reward for rollout in group}) == 1:
        return outcome  # equal rewards may have advantages that are not quite 0, by rounding
    if credit == "shared_prefix":
        return shared_prefix(group, advantages)
    if credit == "first_error":
        return first_error(group, advantages)
    if credit == "difference":
        own = differences(group, [rollout.score for rollout in group])
    elif credit == "reference_gain":
        own = differences(group, [rollout.step_values[-1] for rollout in group if rollout.step_values])
    else:
        own = centred(group, advantages)
    if credit == "random":
        parts = [part for own_S in own for part in own_S]
        rng.shuffle(parts)
        shuffled = iter(parts)
        own = [[next(shuffled) for _ in own_S] for own_S in own]
    return [
        [a + weight * part for a, part in zip(a_S, own_S, strict=True)] for a_S, own_S in zip(outcome, own, strict=True)
    ]


def first_error(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """Nothing before a wrong completion's first value below 0.5. Where there is no such value, no step is spared."""
    found = []
    for rollout, advantage in zip(group, advantages, strict=True):
        first = first_below(rollout.step_values, THRESHOLD) if advantage < 0 else 0
        found.append([0.0 if step < first else advantage for step in range(len(rollout.step_ends))])
    return found


def centred(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """How far each value is above the mean of the group's steps with an advantage of the same sign."""
    found: list[list[float]] = [[] for _ in group]
    for wrong in (True, False):
        rows = [row for row, advantage in enumerate(advantages) if (advantage < 0) is wrong]
        values = [value for row in rows for value in group[row].step_values]
        mean = fmean(values) if values else 0.0
        for row in rows:
            found[row] = [value - mean for value in group[row].step_values]
    return found


def differences(group: Sequence[Rollout], lasts: Sequence[float]) -> list[list[float]]:
    """How much each step raises the value. Before the first step it is the mean of `lasts`, the group's last values."""
    start = fmean(lasts) if lasts else 0.0
    return [
        [value - before for before, value in zip((start, *r.step_values), r.step_values, strict=False)] for r in group
    ]


def shared_prefix(group: Sequence[Rollout], advantages: Sequence[float]) -> list[list[float]]:
    """The mean advantage of the completions that begin as this one does, up to each of its steps."""
    begun = [{rollout.completion[:end] for end in rollout.step_ends} for rollout in group]
    rows = list(zip(begun, advantages, strict=True))
    return [
        [fmean(a for prefixes, a in rows if rollout.completion[:end] in prefixes) for end in rollout.step_ends]
        for rollout in group
    ]
