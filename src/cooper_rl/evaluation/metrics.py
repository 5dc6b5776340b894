"""Metrics with bootstrap intervals, as pure functions of arrays: of yes/no judgements, and of several samples.

`right_P_N` is bool, P problems x N samples of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cooper_rl.records import THRESHOLD
from cooper_rl.verifyrm.triples import Confusion

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


def pass_at_k(right_P_N: Bools, k: int) -> Floats:
    """The probability that at least one of k samples is right, for each problem; shape (P,).

    The estimate from N >= k samples with c right ones is unbiased: 1 - C(N - c, k) / C(N, k) (Chen et al., arXiv
    2107.03374, equation 1).

    Raises:
        ValueError: k is not in 1..N.
    """
    count = right_P_N.shape[1]
    if not 1 <= k <= count:
        raise ValueError(f"pass@{k} needs {k} samples, there are {count}")
    return np.array([1 - comb(count - int(c), k) / comb(count, k) for c in right_P_N.sum(axis=1)])


def majority(answers_N: Sequence[str | None], right_N: Sequence[bool]) -> float:
    """1 if the answer that most samples give is right, else 0. With a tie, the share of right ones among the tied.

    A sample without a readable answer has no vote. The result is 0 if no sample has one.
    """
    votes: dict[str, list[bool]] = defaultdict(list)
    for answer, right in zip(answers_N, right_N, strict=True):
        if answer is not None:
            votes[answer].append(right)
    if not votes:
        return 0.0
    most = max(map(len, votes.values()))
    return float(np.mean([group[0] for group in votes.values() if len(group) == most]))


def interval(values_P: Floats, *, samples: int, seed: int) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the mean over problems."""
    return bootstrap(np.mean, values_P, samples=samples, seed=seed)


def paired_test(ours_P: Floats, theirs_P: Floats, *, samples: int, seed: int) -> dict[str, float]:
    """The mean difference on the same problems, its 95 % interval and the p-value of the sign-flip permutation test.

    Raises:
        ValueError: the shapes differ.
    """
    if ours_P.shape != theirs_P.shape:
        raise ValueError(f"paired metrics of {ours_P.shape} and {theirs_P.shape} problems")
    difference_P = ours_P - theirs_P
    low, high = interval(difference_P, samples=samples, seed=seed)
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1.0, 1.0), (samples, len(difference_P)))
    flipped = np.abs((signs * difference_P).mean(axis=1))
    observed = abs(difference_P.mean())
    p_value = (1 + int((flipped >= observed - 1e-12).sum())) / (samples + 1)
    return {"difference": float(difference_P.mean()), "low": low, "high": high, "p_value": p_value}
