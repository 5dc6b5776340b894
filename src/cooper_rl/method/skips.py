"""Steps that teach nothing, for want of a finite gradient or of any verdict: many in a row end the run."""

from __future__ import annotations

from collections import Counter

from cooper_rl.errors import CooperError

VERIFIER = "verifier"


class Skips:
    """Counts steps in a row that a model had to skip.

    Args:
        limit: the run ends after more than this many in a row.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_a_row: Counter[str] = Counter()

    def count(self, model: str, skipped: bool) -> None:
        """Counts a step of the policy, the reward model or the verifier.

        Raises:
            CooperError: more than `limit` in a row were skipped.
        """
        self.in_a_row[model] = self.in_a_row[model] + 1 if skipped else 0
        count = self.in_a_row[model]
        if count <= self.limit:
            return
        if model == VERIFIER:
            raise CooperError(
                f"in {count} steps in a row the verifier failed on every completion (verdict ERROR);"
                " `cooper verify --explain --verifier NAME` shows the error"
            )
        raise CooperError(
            f"{count} steps in a row had a {model} gradient that is not finite; the last checkpoint"
            " was written before them: resume from it with --resume and a lower learning rate"
        )
