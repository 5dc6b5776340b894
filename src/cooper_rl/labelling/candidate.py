"""A completion on its way to a labelled triple, and why it is dropped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from cooper_rl.records import Verdict


@dataclass(slots=True)
class Candidate:
    """A completion that is being labelled. `reason` says why it was dropped."""

    record: dict[str, Any]
    question: str
    reference_answer: str
    completion: str
    judged: bool = False  # whether a model judged it, or it had a label
    verdict: Verdict | None = None
    vote: bool | None = None
    reason: str = ""
    aliases: tuple[str, ...] = ()  # further answers that are as right

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right, the reference answer first."""
        return (self.reference_answer, *self.aliases)

    @property
    def correct(self) -> bool:
        """The label of a completion that is kept: the rule's verdict, or the vote where the rule cannot judge."""
        return self.verdict is Verdict.CORRECT or (self.verdict is not Verdict.INCORRECT and bool(self.vote))

    @property
    def key(self) -> str:
        """Identifies the candidate after a restart, whatever the order of the input."""
        text = json.dumps([self.question, self.reference_answer, self.completion])
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def disagreement(candidate: Candidate, *, keep_undecided: bool = False) -> str:
    """Why the rule and the judge do not agree on a label; "" if they do.

    Args:
        keep_undecided: whether the judge's vote is enough where the rule cannot judge.
    """
    if candidate.verdict not in (Verdict.CORRECT, Verdict.INCORRECT):
        return "" if keep_undecided and candidate.vote is not None else f"rule:{candidate.verdict}"
    if not candidate.judged:
        return ""
    if candidate.vote is None:
        return "judge_abstained"
    return "" if candidate.vote == (candidate.verdict is Verdict.CORRECT) else "disagreement"
