"""The confusion counts of yes/no judgements, and the metrics that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any


@dataclass(frozen=True)
class Confusion:
    """The number of judgements of each kind.

    Args:
        of_nothing: the value of a metric whose denominator is 0: NaN for "not known", or 0.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int
    of_nothing: float = nan

    @classmethod
    def of(cls, said_B: Any, correct_B: Any, *, of_nothing: float = nan) -> Confusion:
        """Counts two bool arrays or tensors of shape (B,): what was said, and what is true."""
        cells = (said_B & correct_B, said_B & ~correct_B, ~said_B & correct_B, ~said_B & ~correct_B)
        tp, fp, fn, tn = (int(cell_B.sum()) for cell_B in cells)
        return cls(tp, fp, fn, tn, of_nothing)

    @property
    def count(self) -> int:
        """All judgements."""
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    @property
    def accuracy(self) -> float:
        """The share of judgements that agree with the truth."""
        return self._share(self.true_positives + self.true_negatives, self.count)

    @property
    def recall(self) -> float:
        """The share of right ones that are called right."""
        return self._share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def specificity(self) -> float:
        """The share of wrong ones that are called wrong."""
        return self._share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of recall and specificity. It is 0.5 for a judge who always says the same."""
        return (self.recall + self.specificity) / 2

    @property
    def precision(self) -> float:
        """The share of right ones among those that are called right."""
        return self._share(self.true_positives, self.true_positives + self.false_positives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        hits = 2 * self.true_positives
        return self._share(hits, hits + self.false_positives + self.false_negatives)

    def _share(self, part: int, whole: int) -> float:
        return part / whole if whole else self.of_nothing
