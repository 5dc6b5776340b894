"""Metrics of several samples of a problem, as pure functions. `right_P_N` is bool, P problems x N samples of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import comb

import numpy as np

from cooper_rl.evaluation.metrics import Bools, Floats, bootstrap


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
