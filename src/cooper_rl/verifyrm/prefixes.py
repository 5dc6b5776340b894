"""Stage 2 on prefixes: the values of steps are learned beside those of whole completions. (Ours, not the paper's.)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.steps import step_ends
from cooper_rl.verifyrm.losses import contrastive_loss, prefix_loss

PREFIX_METRICS = ("step_margin", "step_pair_accuracy", "prefix_loss")


class Counts(NamedTuple):
    """What a whole step of stage 2 has, on all ranks and in all passes."""

    pairs: float
    labelled: float
    parted: float  # pairs with `at`
    stepped: float  # labelled triples of two steps and more


def steps_of(record: Scorable, kind: str) -> Sequence[int]:
    """Where the steps of a completion end, by its record or by `step_ends`; a blank one is one step."""
    return getattr(record, "ends", ()) or step_ends(record.completion, kind) or [len(record.completion)]


def prefix_losses(
    pairs: Sequence[ContrastivePair],
    labelled: Sequence[LabelledCompletion],
    of_steps: Sequence[Tensor],
    counts: Counts,
) -> tuple[Tensor, dict[str, float]]:
    """The contrastive loss of pairs after the step where they part, and the cross-entropy of labelled prefixes.

    L = -mean log sigmoid(z_pos,at - z_neg,at), over pairs with `at`, + `losses.prefix_loss` of the labelled triples'
    steps but the last. A positive of fewer steps is compared as a whole.

    Args:
        of_steps: logits after each step of the positives, of the negatives and of the labelled triples, (S,) each.
        counts: the sums of this pass are divided by those of the whole step.

    Returns:
        This pass's part of the loss, and of the metrics `PREFIX_METRICS`.
    """
    loss, metrics = torch.zeros(()), dict[str, float]()
    positives, negatives = of_steps[: len(pairs)], of_steps[len(pairs) : 2 * len(pairs)]
    rows = [(p, n, pair.at) for p, n, pair in zip(positives, negatives, pairs, strict=True) if pair.at is not None]
    if rows:
        positive_N = torch.stack([logits_S[min(at, len(logits_S) - 1)] for logits_S, _, at in rows])
        negative_N = torch.stack([logits_S[at] for _, logits_S, at in rows])
        contrastive, found = contrastive_loss(positive_N, negative_N, torch.ones(len(rows), dtype=torch.bool))
        share = len(rows) / counts.parted
        loss = contrastive * share
        metrics = {f"step_{name}": found[name] * share for name in ("margin", "pair_accuracy")}
    before_last = [logits_S[:-1] for logits_S in of_steps[2 * len(pairs) :]]
    stepped = sum(len(logits_S) > 0 for logits_S in before_last)
    if stepped:
        labels = [torch.tensor(t.prefix_labels(len(own))) for t, own in zip(labelled, before_last, strict=True)]
        valid = [torch.ones(len(own), dtype=torch.bool) for own in before_last]
        columns = (pad_sequence(list(column), batch_first=True) for column in (before_last, labels, valid))
        bce, found = prefix_loss(*columns)
        share = stepped / counts.stepped
        loss, metrics["prefix_loss"] = loss + bce * share, found["prefix_loss"] * share
    return loss, metrics
