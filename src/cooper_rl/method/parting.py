"""The step where the two completions of a pair part, after which stage 2 compares them too. (Ours, not the paper's.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cooper_rl.records import ContrastivePair, Rollout
from cooper_rl.steps import step_ends


def parted(pair: ContrastivePair, group: Sequence[Rollout], kind: str, *, valued: bool) -> ContrastivePair:
    """The pair with `at`: of the negative's steps from the first that differs on, the one with the highest value.

    There the reward model is the most wrong about a mined exploit. Where the negative's steps have no values, it is the
    first step that differs. A pair that parts at the negative's last step only has none.

    Args:
        group: the prompt's rollouts.
        kind: what the steps are, as in `step_ends`.
        valued: whether the rollouts' step values are the reward model's.
    """
    ends = step_ends(pair.negative, kind)
    right = [pair.positive[:end] for end in step_ends(pair.positive, kind)]
    first = sum(pair.negative[:end] in right for end in ends)
    steps = range(first, len(ends) - 1)
    values = next((r.step_values for r in group if valued and r.completion == pair.negative and r.step_values), ())
    at = max(steps, key=lambda step: values[step] if values else -step, default=None)
    return replace(pair, at=at)
