"""Metrics of yes/no judgements made by scores, with bootstrap intervals. All are pure functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cooper_rl.confusion import Confusion
from cooper_rl.records import THRESHOLD

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def metrics_of(scores_B: Floats, correct_B: Bools, *, threshold: float = THRESHOLD) -> dict[str, float]:
    """Accuracy, balanced accuracy, precision, recall, F1, AUROC and calibration error; fractions from 0 to 1.

    A metric that is not defined, such as recall without a right completion, is NaN rather than 0.

    Args:
        scores_B: scores from 0 to 1, shape (B,).
        correct_B: whether each completion is right, shape (B,).
        threshold: a score above it calls the completion right.
    """
    found = Confusion.of(scores_B > threshold, correct_B)
    return {
        "accuracy": found.accuracy,
        "balanced_accuracy": found.balanced_accuracy,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "auroc": auroc(scores_B, correct_B),
        "calibration_error": calibration_error(scores_B, correct_B),
    }


def auroc(scores_B: Floats, correct_B: Bools) -> float:
    """The probability that a right completion scores above a wrong one, where ties count half (Mann-Whitney)."""
    right, wrong = int(correct_B.sum()), int((~correct_B).sum())
    if not right or not wrong:
        return float("nan")
    _, place, counts = np.unique(scores_B, return_inverse=True, return_counts=True)
    ranks_of_values = np.cumsum(counts) - (counts - 1) / 2  # mean rank of tied scores
    rank_sum = float(ranks_of_values[place][correct_B].sum())
    return (rank_sum - right * (right + 1) / 2) / (right * wrong)


def calibration_error(scores_B: Floats, correct_B: Bools, bins: int = 15) -> float:
    """Expected calibration error: |mean score - share of right ones| in bins of equal width, weighted by bin size."""
    bin_B = np.minimum((scores_B * bins).astype(int), bins - 1)
    error = 0.0
    for index in np.unique(bin_B):
        inside = bin_B == index
        error += inside.sum() / len(scores_B) * abs(scores_B[inside].mean() - correct_B[inside].mean())
    return float(error)


def bootstrap(
    metric: Callable[..., float], *columns_B: NDArray[Any], samples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of a metric of columns of shape (B,), which are resampled together."""
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(samples):
        rows = rng.integers(0, len(columns_B[0]), len(columns_B[0]))
        values.append(metric(*(column_B[rows] for column_B in columns_B)))
    low, high = np.nanpercentile(values, [2.5, 97.5]) if not np.isnan(values).all() else (np.nan, np.nan)
    return float(low), float(high)
