"""How sure a figure is: intervals of shares, and changes of accuracy on held-out problems with their tests.

A test's error is that of a two-sided 95 % interval: 2.5 % on each side. Where the best of several looks is chosen, each
look has its part of it (Bonferroni), so that the whole still errs with at most 2.5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

ERROR = 0.025  # on each side
Z_95 = NormalDist().inv_cdf(1 - ERROR)
POWER = NormalDist().inv_cdf(0.8)  # problems are counted so that four of five such changes would be shown


def wilson(hits: float, count: float, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of the share `hits / count`: (lower bound, upper bound), from 0 to 1."""
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


@cache
def student(count: int, looks: int = 1) -> float:
    """Student's t of a two-sided 95 % interval of the mean of so many values, at least 2, to two decimals.

    P(|T| <= t) is a finite sum in the angle whose tangent is t / sqrt(count - 1) (Abramowitz and Stegun, 26.7.3 and 4).
    """
    freedom = count - 1

    def inside(angle: float) -> float:
        sine, cosine = math.sin(angle), math.cos(angle)
        term, total = (cosine, 0.0) if freedom % 2 else (1.0, 0.0)
        for k in range(1 + freedom % 2, freedom, 2):
            total, term = total + term, term * cosine**2 * k / (k + 1)
        return (angle + sine * total) * 2 / math.pi if freedom % 2 else sine * total

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 1 - 2 * ERROR / looks else (low, middle)
    return round(math.tan(low) * math.sqrt(freedom), 2)


def mean_interval(values: Sequence[float], looks: int = 1) -> tuple[float, float]:
    """Student's 95 % interval of the mean of independent values; infinite where there is one value only."""
    if len(values) < 2:
        return -math.inf, math.inf
    half = student(len(values), looks) * math.sqrt(variance(values) / len(values))
    return fmean(values) - half, fmean(values) + half


def rises(values: Sequence[float]) -> bool:
    """Whether the mean over the last tenth of a run's steps, at least 3, is above that over the first beyond error.

    Each step is one observation (Welch's test, with the lower of its possible degrees of freedom). Fewer than 6 steps
    show nothing.
    """
    count = max(3, len(values) // 10)
    if len(values) < 2 * count:
        return False
    first, last = values[:count], values[-count:]
    return fmean(last) - fmean(first) > student(count) * math.sqrt((variance(first) + variance(last)) / count)


class Change(NamedTuple):
    """A change of accuracy on held-out problems, from one measurement to another.

    Args:
        before, after: the two accuracies, from 0 to 1.
        problems: how many problems each is a share of.
        centre: the change, smoothed as its interval needs it.
        spread: the variance over problems of a problem's change, smoothed.
        fell, rose: p-values of the one-sided tests that accuracy has not fallen, and not risen.
    """

    before: float
    after: float
    problems: int
    centre: float
    spread: float
    fell: float
    rose: float

    @property
    def mean(self) -> float:
        """The change, from -1 to 1."""
        return self.after - self.before

    def sign(self, looks: int = 1) -> int:
        """1 where accuracy rose beyond error, -1 where it fell, else 0.

        Args:
            looks: how many changes this one was chosen from.
        """
        return (self.rose <= ERROR / looks) - (self.fell <= ERROR / looks)

    def interval(self, looks: int = 1) -> tuple[float, float]:
        """The 95 % interval of the change, which holds for all of so many `looks` together."""
        half = NormalDist().inv_cdf(1 - ERROR / looks) * math.sqrt(self.spread / (self.problems + 2))
        return self.centre - half, self.centre + half

    def problems_for(self, size: float, looks: int = 1) -> int:
        """About how many problems would show a change of this size in four of five cases, with this spread.

        By Miettinen's and Connor's formula for matched pairs, rounded up to half a leading digit.
        """
        z = NormalDist().inv_cdf(1 - ERROR / looks)
        exact = ((z * math.sqrt(self.spread + size**2) + POWER * math.sqrt(self.spread)) / size) ** 2
        half_a_digit = max(1.0, 10 ** (math.ceil(math.log10(exact + 1)) - 1) / 2)
        return int(math.ceil(exact / half_a_digit) * half_a_digit)


def paired_change(before: str, after: str) -> Change:
    """The change on the same problems: McNemar's exact tests, and Agresti's and Min's interval (2005).

    Args:
        before, after: `1` for each problem that was solved and `0` for another, in the same order.

    Raises:
        ValueError: the two have other numbers of problems, or none.
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"paired accuracies of {len(before)} and {len(after)} problems")
    count = len(before)
    pairs = [*zip(before, after, strict=True)]
    up, down = pairs.count(("0", "1")), pairs.count(("1", "0"))
    centre = (up - down) / (count + 2)
    spread = (up + down + 1) / (count + 2) - centre**2
    tests = tail(down, up + down), tail(up, up + down)
    return Change(before.count("1") / count, after.count("1") / count, count, centre, spread, *tests)


def tail(hits: int, count: int) -> float:
    """The probability of at least so many heads in `count` throws of a fair coin."""
    ways: int = sum(math.comb(count, k) for k in range(hits, count + 1))
    return ways / (1 << count)


def unpaired_change(before: float, after: float, problems: int) -> Change:
    """The change where it is not known which problems were solved: Agresti's and Caffo's interval, and its tests.

    It takes the two measurements as independent draws, so it needs more problems than a paired test to show the same.
    """
    first, last = ((share * problems + 1) / (problems + 2) for share in (before, after))
    spread = first * (1 - first) + last * (1 - last)
    z = (last - first) / math.sqrt(spread / (problems + 2))
    return Change(before, after, problems, last - first, spread, NormalDist().cdf(z), NormalDist().cdf(-z))
