"""How well a VerifyRM tells right from wrong on labelled triples."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from cooper_rl.records import LabelledCompletion
from cooper_rl.verifyrm.model import VerifyRM


def evaluate(
    reward_model: VerifyRM, triples: Sequence[LabelledCompletion], *, threshold: float = 0.5
) -> dict[str, float]:
    """Accuracy, balanced accuracy, precision, recall and the confusion counts at a threshold of the score."""
    scores_B = reward_model.score(
        [t.question for t in triples], [t.reference_answer for t in triples], [t.completion for t in triples]
    )
    return confusion(scores_B > threshold, torch.tensor([t.correct for t in triples]))


def confusion(predicted_B: torch.Tensor, correct_B: torch.Tensor) -> dict[str, float]:
    """The figures of one yes/no judgement against the truth; both bool, shape (B,)."""
    tp = int((predicted_B & correct_B).sum())
    fp = int((predicted_B & ~correct_B).sum())
    fn = int((~predicted_B & correct_B).sum())
    tn = int((~predicted_B & ~correct_B).sum())
    recall, specificity = tp / max(1, tp + fn), tn / max(1, tn + fp)
    return {
        "count": tp + fp + fn + tn,
        "accuracy": (tp + tn) / max(1, tp + fp + fn + tn),
        "balanced_accuracy": (recall + specificity) / 2,
        "precision": tp / max(1, tp + fp),
        "recall": recall,
        "true_positives": tp,
        "false_positives": fp,
        "false_negatives": fn,
        "true_negatives": tn,
    }
