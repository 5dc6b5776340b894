"""How well a VerifyRM tells right from wrong on labelled triples."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from cooper_rl.records import LabelledCompletion
from cooper_rl.verifyrm.model import VerifyRM


def evaluate(
    reward_model: VerifyRM, triples: Sequence[LabelledCompletion], *, threshold: float = 0.5
) -> dict[str, float]:
    """Accuracy, balanced accuracy, precision, recall and the confusion counts at a threshold of the score.

    Each rank scores its share; all of them must call it, and all get the figures of the whole.
    """
    ranks = PartialState()
    own = triples[ranks.process_index :: ranks.num_processes]
    scores_B = reward_model.score(
        [t.question for t in own], [t.reference_answer for t in own], [t.completion for t in own]
    )
    judged = gather_object([(score > threshold, t.correct) for score, t in zip(scores_B.tolist(), own, strict=True)])
    predicted_B, correct_B = torch.tensor(judged, dtype=torch.bool).reshape(-1, 2).unbind(1)
    return confusion(predicted_B, correct_B)


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
