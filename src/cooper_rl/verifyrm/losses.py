"""The reward model's losses as pure functions of logits: stage 2 on pairs, prefixes and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from cooper_rl.records import ContrastivePair, LabelledCompletion, Scorable
from cooper_rl.steps import step_ends

PREFIX_METRICS = ("step_margin", "step_pair_accuracy", "prefix_loss")


def contrastive_loss(
    positive_logits_N: Tensor, negative_logits_N: Tensor, valid_N: Tensor
) -> tuple[Tensor, dict[str, float]]:
    """Stage 2 of Cooper: L = -log sigmoid(z_pos - z_neg), averaged over the valid pairs (paper, section 3.3).

    Args:
        positive_logits_N: z of the right completions, shape (N,).
        negative_logits_N: z of the wrong completions, shape (N,).
        valid_N: bool, shape (N,). A pair that is False has no effect on the loss or its gradient.

    Returns:
        The loss and the metrics `loss`, `margin` and `pair_accuracy`. The loss is a scalar; it is 0, without gradient,
        where no pair is valid.

    Raises:
        ValueError: the three shapes are not the same (N,). Shapes (N, 1) and (N,) would broadcast to (N, N), so that
            masked pairs would count again.
    """
    shapes = {tuple(t.shape) for t in (positive_logits_N, negative_logits_N, valid_N)}
    if len(shapes) != 1 or positive_logits_N.dim() != 1:
        raise ValueError(f"contrastive_loss needs three tensors of one shape (N,), got {sorted(shapes)}")
    margin_N = (positive_logits_N - negative_logits_N).float()
    margin_N = torch.where(valid_N.bool(), margin_N, torch.zeros_like(margin_N))
    weight_N = valid_N.float()
    count = weight_N.sum().clamp(min=1.0)
    loss = -(F.logsigmoid(margin_N) * weight_N).sum() / count
    metrics = {
        "loss": loss.item(),
        "margin": ((margin_N * weight_N).sum() / count).item(),
        "pair_accuracy": (((margin_N > 0).float() * weight_N).sum() / count).item(),
    }
    return loss, metrics


def prefix_loss(logits_B_S: Tensor, labels_B_S: Tensor, valid_B_S: Tensor) -> tuple[Tensor, dict[str, float]]:
    """Binary cross-entropy of the prefixes that end with a step: the mean over a completion's, then over completions.

    L = 1/B sum_b 1/S_b sum_s -log sigmoid(y z), with y = 1 where the prefix counts as right and -1 else (outcome labels
    on every prefix: IPVRM, arXiv 2604.13197). Completions without a valid prefix are left out.

    Args:
        logits_B_S: z after each step, shape (B, S).
        labels_B_S: 1 where a prefix counts as right, else 0.
        valid_B_S: bool; False where there is no step.

    Returns:
        The loss, 0 where no prefix is valid, and the metrics `prefix_loss` and `prefix_accuracy`.

    Raises:
        ValueError: the shapes are not the same (B, S).
    """
    shapes = {tuple(t.shape) for t in (logits_B_S, labels_B_S, valid_B_S)}
    if len(shapes) != 1 or logits_B_S.dim() != 2:
        raise ValueError(f"prefix_loss needs three tensors of one shape (B, S), got {sorted(shapes)}")
    weight_B_S = _even(valid_B_S)
    losses_B_S = F.binary_cross_entropy_with_logits(logits_B_S.float(), labels_B_S.float(), reduction="none")
    loss = (losses_B_S * weight_B_S).sum()
    hits_B_S = ((logits_B_S > 0) == (labels_B_S > 0.5)).float()
    return loss, {"prefix_loss": loss.item(), "prefix_accuracy": (hits_B_S * weight_B_S).sum().item()}


def step_margin_loss(
    logits_B_S: Tensor, labels_B_S: Tensor, valid_B_S: Tensor, margin: float
) -> tuple[Tensor, dict[str, float]]:
    """Within a completion a right prefix is valued above a wrong one by a margin (as PQM does, arXiv 2410.11287).

    L = -mean log sigmoid(z_i - z_j - margin), over a completion's right prefixes i and wrong ones j, then over the
    completions that have both.

    Args:
        logits_B_S, labels_B_S, valid_B_S: as in `prefix_loss`.
        margin: in logits.

    Returns:
        The loss, 0 where no completion has both, and the metrics `step_margin_loss` and `step_order`: the share of
        such pairs in which the right prefix is valued higher.
    """
    right_B_S, wrong_B_S = valid_B_S & (labels_B_S > 0.5), valid_B_S & (labels_B_S <= 0.5)
    pairs_B_S_S = right_B_S[:, :, None] & wrong_B_S[:, None, :]
    weight_B_S_S = _even(pairs_B_S_S.flatten(1)).view(pairs_B_S_S.shape)
    above_B_S_S = (logits_B_S[:, :, None] - logits_B_S[:, None, :]).float()
    loss = -(F.logsigmoid(above_B_S_S - margin) * weight_B_S_S).sum()
    order = ((above_B_S_S > 0).float() * weight_B_S_S).sum()
    return loss, {"step_margin_loss": loss.item(), "step_order": order.item()}


def bce_loss(logits_B: Tensor, labels_B: Tensor, *, positive_weight: float = 1.0) -> tuple[Tensor, dict[str, float]]:
    """VerifyRM's training loss: binary cross-entropy of sigmoid(z) against the label (paper, section 3.2).

    Args:
        logits_B: z of the completions, shape (B,).
        labels_B: 1 where a completion is right, else 0; shape (B,).
        positive_weight: weight of a right completion, where a wrong one has weight 1.

    Raises:
        ValueError: the two shapes are not the same (B,).
    """
    if logits_B.shape != labels_B.shape or logits_B.dim() != 1:
        raise ValueError(f"bce_loss needs (B,) and (B,), got {tuple(logits_B.shape)} and {tuple(labels_B.shape)}")
    labels_B = labels_B.float()
    weight = None if positive_weight == 1.0 else logits_B.new_tensor(positive_weight).float()
    loss = F.binary_cross_entropy_with_logits(logits_B.float(), labels_B, pos_weight=weight)
    accuracy = ((logits_B > 0) == (labels_B > 0.5)).float().mean()
    return loss, {"loss": loss.item(), "accuracy": accuracy.item(), "positive_rate": labels_B.mean().item()}


def summed_over(labels_B: Tensor, step_labels_B_S: Tensor | None, valid_B_S: Tensor | None) -> tuple[int, int, int]:
    """How many completions `bce_loss`, `prefix_loss` and `step_margin_loss` are means over; shapes as there.

    Where a batch goes through a model in parts, each part's losses count by its share in these.
    """
    if step_labels_B_S is None or valid_B_S is None:
        return len(labels_B), 0, 0
    right_B, wrong_B = (valid_B_S.bool() & ((step_labels_B_S > 0.5) == side) for side in (True, False))
    both = int((right_B.any(1) & wrong_B.any(1)).sum())
    return len(labels_B), int(valid_B_S.any(1).sum()), both


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
    """Stage 2 on prefixes: the values of steps are learned beside those of whole completions. (Ours, not the paper's.)

    The contrastive loss of pairs after the step where they part, and the cross-entropy of labelled prefixes:

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


def _even(valid_B_N: Tensor) -> Tensor:
    """Weights of a mean over each row's valid entries, then over the rows that have one."""
    weight_B_N = valid_B_N.float()
    weight_B_N = weight_B_N / weight_B_N.sum(1, keepdim=True).clamp(min=1.0)
    return weight_B_N / weight_B_N.sum().clamp(min=1.0)
