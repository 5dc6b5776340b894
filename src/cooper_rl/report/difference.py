"""The 95 % interval of the difference between two arms' final accuracy: over seeds, or of one seed over problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

# Student's t for a two-sided 95 % interval, by the number of runs.
STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
NORMAL_95 = 1.96


class Difference(NamedTuple):
    """A difference of means with its interval, as fractions from -1 to 1.

    Args:
        ours: our mean over the seeds that both have.
        theirs: the other's.
        counted: what the interval comes from, in words; empty where there is none, and then low and high are infinite.
    """

    ours: float
    theirs: float
    low: float
    high: float
    counted: str

    @property
    def mean(self) -> float:
        """Ours less theirs."""
        return self.ours - self.theirs

    @property
    def sign(self) -> int:
        """1 or -1 where the interval leaves out 0, else 0."""
        return (self.low > 0) - (self.high < 0)


def difference(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]], problems: int | None
) -> Difference | None:
    """Our final true accuracy less theirs; None where no seed has both.

    With several seeds in common it is the mean of the differences by seed, with Student's interval. With one it has
    Agresti and Caffo's interval, which takes the held-out problems of both runs as independent draws.

    Args:
        ours: an arm's entries in the summary.
        theirs: another's.
        problems: the number of held-out problems; None where it is not known.
    """
    ends = {entry["seed"]: entry["true_accuracy"]["end"] for entry in theirs}
    both = [(entry["true_accuracy"]["end"], ends.get(entry["seed"])) for entry in ours]
    pairs = [(our, their) for our, their in both if our is not None and their is not None]
    if not pairs:
        return None
    our_mean, their_mean = (fmean(ends) for ends in zip(*pairs, strict=True))
    middle, count = our_mean - their_mean, len(pairs)
    if count > 1:
        half = STUDENT_95.get(count, STUDENT_95[10]) * stdev(our - their for our, their in pairs) / math.sqrt(count)
        return Difference(our_mean, their_mean, middle - half, middle + half, f"{count} seeds")
    if problems is None:
        return Difference(our_mean, their_mean, -math.inf, math.inf, "")
    our, their = ((share * problems + 1) / (problems + 2) for share in pairs[0])
    half = NORMAL_95 * math.sqrt((our * (1 - our) + their * (1 - their)) / (problems + 2))
    return Difference(our_mean, their_mean, our - their - half, our - their + half, f"one seed, {problems} problems")
