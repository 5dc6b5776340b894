"""Answers of one group help each other: equal answers get equal verdicts. (Ours, not the paper's.)

Whether a rule finds an answer depends on the words around it, so of two completions with the same answer one may be
judged and the other left open. Only answers with the same text are taken for the same. Letting the verifier compare
the open answer with a right one of its group was tried: of what it called different 5 % were right (docs/verifier.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from cooper_rl.method.reward import Reward
from cooper_rl.records import Reason, Rollout, Sample, Verdict, Verification

Weigh = Callable[[Sequence[Rollout]], list[tuple[float, str]]]
REASONS = {Verdict.CORRECT: Reason.MATCH, Verdict.INCORRECT: Reason.MISMATCH}


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
        _settled(found, verdicts.get((sample.group, found.answer), set()))
        for sample, found in zip(samples, verifications, strict=True)
    ]


def _settled(found: Verification, verdicts: set[Verdict]) -> Verification:
    if found.reason is not Reason.UNKNOWN_FORM or found.answer is None or len(verdicts) != 1:
        return found
    (verdict,) = verdicts
    return replace(found, verdict=verdict, reason=REASONS[verdict])


def shares(rollouts: Sequence[Rollout]) -> list[float]:
    """The share of each rollout's group that states the same answer, itself included."""
    sizes = Counter(rollout.group for rollout in rollouts)
    counts = Counter((rollout.group, rollout.answer) for rollout in rollouts)
    return [(counts[r.group, r.answer] if r.answer is not None else 1) / sizes[r.group] for r in rollouts]
