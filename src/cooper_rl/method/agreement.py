"""Answers of one group help each other: equal answers get equal verdicts. (Ours, not the paper's.)

Whether a rule finds an answer depends on the words around it, so of two completions with the same answer one may be
judged and the other left open. Only answers with the same text are taken for the same. Letting the verifier compare
the open answer with a right one of its group was tried: of what it called different 5 % were right (docs/verifier.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from cooper_rl.method.reward import Reward
from cooper_rl.records import Reason, Rollout, Verdict

REASONS = {Verdict.CORRECT: Reason.MATCH, Verdict.INCORRECT: Reason.MISMATCH}


def settled(ranks: Iterable[Sequence[Rollout]], size: int, reward: Reward) -> list[Rollout]:
    """The rollouts of all ranks with their groups numbered, each open one settled where its group can.

    An open rollout has an answer in a form that the rules cannot read. It gets the verdict of the judged rollouts of
    its group that state the same answer, and the reward that goes with it. Where these do not agree it stays open.

    Args:
        size: rollouts of a group; those of one prompt follow one another, where their group has no number yet.
    """
    found = enumerate(rollout for rank in ranks for rollout in rank)
    rollouts = [replace(rollout, group=i // size) if rollout.group < 0 else rollout for i, rollout in found]
    verdicts: dict[tuple[int, str | None], set[Verdict]] = {}
    for rollout in rollouts:
        if rollout.verdict is Verdict.CORRECT or rollout.verification.doubtful:
            verdicts.setdefault((rollout.group, rollout.answer), set()).add(rollout.verdict)
    return [_settled(rollout, verdicts.get((rollout.group, rollout.answer), set()), reward) for rollout in rollouts]


def _settled(rollout: Rollout, verdicts: set[Verdict], reward: Reward) -> Rollout:
    if rollout.reason is not Reason.UNKNOWN_FORM or rollout.answer is None or len(verdicts) != 1:
        return rollout
    (verdict,) = verdicts
    same = replace(rollout, verdict=verdict, reason=REASONS[verdict])
    return replace(same, reward=reward.of(same.verification, same.score))


def shares(rollouts: Sequence[Rollout]) -> list[float]:
    """The share of each rollout's group that states the same answer, itself included."""
    sizes = Counter(rollout.group for rollout in rollouts)
    counts = Counter((rollout.group, rollout.answer) for rollout in rollouts)
    return [(counts[r.group, r.answer] if r.answer is not None else 1) / sizes[r.group] for r in rollouts]
