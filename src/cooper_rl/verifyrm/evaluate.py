"""How well a reward model tells right from wrong on labelled triples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from cooper_rl.confusion import Confusion
from cooper_rl.records import THRESHOLD, LabelledCompletion, Scorable


def evaluate(
    score: Callable[[Sequence[Scorable]], Iterable[float]],
    triples: Sequence[LabelledCompletion],
    *,
    threshold: float = THRESHOLD,
) -> dict[str, float]:
    """Accuracy, balanced accuracy, precision, recall and the counts behind them, as fractions from 0 to 1.

    A metric whose denominator is 0 is 0. With several ranks, every rank must call this. Each scores its share of the
    triples, and all get the metrics of the whole.

    Args:
        score: a reward model's scores of records, from 0 to 1: `VerifyRM.score_records`, or any `RewardModel.score`.
        threshold: a score above it calls the completion right.
    """
    ranks = PartialState()
    own = triples[ranks.process_index :: ranks.num_processes]
    scores = map(float, score(own))
    judged = gather_object([(score > threshold, t.correct) for score, t in zip(scores, own, strict=True)])
    called_right_B, correct_B = torch.tensor(judged, dtype=torch.bool).reshape(-1, 2).unbind(1)
    found = Confusion.of(called_right_B, correct_B, of_nothing=0.0)
    return {
        "count": found.count,
        "accuracy": found.accuracy,
        "balanced_accuracy": found.balanced_accuracy,
        "precision": found.precision,
        "recall": found.recall,
        "true_positives": found.true_positives,
        "false_positives": found.false_positives,
        "false_negatives": found.false_negatives,
        "true_negatives": found.true_negatives,
    }
