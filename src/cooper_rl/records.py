"""The words that every part of Cooper speaks. No torch, no input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

THRESHOLD = 0.5  # a score above it is the reward model's yes


class Verdict(StrEnum):
    """What a rule verifier says of a completion. A failure to judge is never "wrong"."""

    CORRECT = "CORRECT"
    INCORRECT = "INCORRECT"
    UNPARSEABLE = "UNPARSEABLE"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"


class Reason(StrEnum):
    """Why a verifier gave its verdict; `NO_ANSWER` and `UNKNOWN_FORM` tell two UNPARSEABLE kinds apart."""

    MATCH = "match"
    MISMATCH = "mismatch"
    CONTRADICTION = "contradiction"  # several final answers that do not agree
    NO_ANSWER = "no_answer"  # empty, garbage or cut off: nothing that could be an answer in any form
    UNKNOWN_FORM = "unknown_form"  # an answer seems to be there, in a form that the rules cannot read
    BAD_REFERENCE = "bad_reference"  # the reference answer is empty or cannot be read
    DEADLINE = "deadline"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Verification:
    """A verdict with its grounds, as `cooper verify --explain` prints it."""

    verdict: Verdict
    reason: Reason
    parsed_reference: str | None = None
    parsed_answer: str | None = None

    @classmethod
    def compared(cls, same: bool, parsed_reference: str, parsed_answer: str) -> Verification:
        """CORRECT or INCORRECT, after both sides were read."""
        verdict, reason = (Verdict.CORRECT, Reason.MATCH) if same else (Verdict.INCORRECT, Reason.MISMATCH)
        return cls(verdict, reason, parsed_reference, parsed_answer)

    @property
    def surely_wrong(self) -> bool:
        """Whether stage 2 may teach the completion as wrong: INCORRECT, or nothing that could be an answer.

        An answer that the rules cannot read is not among them, since it may be right.
        """
        no_answer = self.verdict is Verdict.UNPARSEABLE and self.reason is Reason.NO_ANSWER
        return no_answer or self.verdict is Verdict.INCORRECT


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with the answer that counts as right."""

    question: str
    reference_answer: str
    source: str = ""
    problem_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelledCompletion:
    """A problem-reference-completion triple with its label: VerifyRM's training record."""

    question: str
    reference_answer: str
    completion: str
    correct: bool
    source: str = ""
    problem_id: str = ""


class Scorable(Protocol):
    """What a reward model scores: a completion, its question and the reference answer. Most records here are."""

    @property
    def question(self) -> str: ...
    @property
    def reference_answer(self) -> str: ...
    @property
    def completion(self) -> str: ...


class Triple(NamedTuple):
    """A `Scorable` and nothing else."""

    question: str
    reference_answer: str
    completion: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """One completion of the policy in training: its score before the step's RM update, and the rule's verdict."""

    question: str
    reference_answer: str
    completion: str
    score: float
    verdict: Verdict
    reason: Reason
    reward: float
    group: int  # index of the prompt in this generation batch; its G rollouts share it
    problem_id: str = ""

    @property
    def verification(self) -> Verification:
        """The verdict with its reason."""
        return Verification(self.verdict, self.reason)


@dataclass(frozen=True, slots=True)
class ContrastivePair:
    """Stage 2's training record: a right and a wrong completion of the same problem."""

    question: str
    reference_answer: str
    positive: str
    negative: str
    negative_source: str  # assistant | perturb | mined | shuffle
    positive_source: str = "rollout"  # rollout | worked_solution
    problem_id: str = ""
