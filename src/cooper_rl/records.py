"""The records that all parts of Cooper exchange. This module imports no torch, and reads and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

THRESHOLD = 0.5  # a score above it means that the reward model calls the completion right


def texts(column: Sequence[Any], name: str) -> list[str]:
    """A column of texts; numbers are written out.

    Raises:
        ValueError: an item is neither a text nor a number.
    """
    for place, item in enumerate(column):
        if not isinstance(item, str | int | float):
            raise ValueError(f"{name}: item {place} is of type {type(item).__name__}; give a text")
    return [str(item) for item in column]


class Verdict(StrEnum):
    """A rule verifier's verdict on a completion. A failure to judge never counts as wrong."""

    CORRECT = "CORRECT"
    INCORRECT = "INCORRECT"
    UNPARSEABLE = "UNPARSEABLE"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"


class Reason(StrEnum):
    """Why a verifier gave its verdict. `NO_ANSWER` and `UNKNOWN_FORM` are two reasons for UNPARSEABLE."""

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
    """A verdict with its reason and both parsed answers, as `cooper verify --explain` prints it.

    A worker process fills in two fields for every verifier. `several_answers` says whether the completion offers
    several that differ. `answer` is the one that it states, in one writing: answers that differ in markup, case and
    spaces only, or in the writing of one number, have the same text. Both are empty where the verdict is TIMEOUT or
    ERROR. `unread` is the part of the answer that was not understood, where that left it open.
    """

    verdict: Verdict
    reason: Reason
    parsed_reference: str | None = None
    parsed_answer: str | None = None
    several_answers: bool = False
    answer: str | None = None
    unread: str | None = None

    @classmethod
    def compared(cls, same: bool, parsed_reference: str, parsed_answer: str) -> Verification:
        """The verification CORRECT or INCORRECT, for two answers that were read and compared."""
        verdict, reason = (Verdict.CORRECT, Reason.MATCH) if same else (Verdict.INCORRECT, Reason.MISMATCH)
        return cls(verdict, reason, parsed_reference, parsed_answer)

    @property
    def surely_wrong(self) -> bool:
        """Whether the completion counts as wrong: it is INCORRECT, or has nothing that could be an answer.

        An answer that the rules cannot read does not count as surely wrong, since it may be right.
        """
        no_answer = self.verdict is Verdict.UNPARSEABLE and self.reason is Reason.NO_ANSWER
        return no_answer or self.verdict is Verdict.INCORRECT

    @property
    def doubtful(self) -> bool:
        """Whether it counts as wrong only because its one answer was found to differ, where the rule may err.

        No answer at all is wrong whatever the rule can read, and so are several answers that differ.
        """
        return self.verdict is Verdict.INCORRECT and self.reason is Reason.MISMATCH and not self.several_answers


@dataclass(frozen=True, slots=True)
class Problem:
    """A question with the answer that counts as right."""

    question: str
    reference_answer: str
    source: str = ""
    problem_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[
        str, ...
    ] = ()  # further answers that are as right; the reward model reads the reference answer alone

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right, the reference answer first."""
        return (self.reference_answer, *self.aliases)


@dataclass(frozen=True, slots=True)
class LabelledCompletion:
    """A problem-reference-completion triple with its label: VerifyRM's training record."""

    question: str
    reference_answer: str
    completion: str
    correct: bool
    source: str = ""
    problem_id: str = ""
    ends: tuple[int, ...] = ()  # offsets just after the steps, where the record says what its steps are
    first_error: int | None = None  # index of the first wrong step, -1 where none is wrong; None: not known
    aliases: tuple[str, ...] = ()  # further answers that are as right as the reference answer

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right, the reference answer first."""
        return (self.reference_answer, *self.aliases)

    def prefix_labels(self, steps: int) -> list[int]:
        """1 for each prefix of so many steps that counts as right, else 0.

        Prefixes are wrong from the first wrong step on. Where that is not known, each has the label of the whole.
        """
        wrong_from = (-1 if self.correct else 0) if self.first_error is None else self.first_error
        return [int(wrong_from < 0 or step < wrong_from) for step in range(steps)]


class Scorable(Protocol):
    """What a reward model scores: a question, its reference answer and a completion. Most records here have these."""

    @property
    def question(self) -> str: ...
    @property
    def reference_answer(self) -> str: ...
    @property
    def completion(self) -> str: ...


class Triple(NamedTuple):
    """A `Scorable` without further fields."""

    question: str
    reference_answer: str
    completion: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A completion of the policy, as an engine passes it to the method. A prompt's G samples follow one another."""

    question: str
    reference_answer: str
    completion: str
    problem_id: str = ""
    worked_solution: str = ""  # the problem's worked solution, if its data set has one
    group: int = -1  # number of its prompt in the batch, from 0; -1: its place tells, a prompt's samples being together
    aliases: tuple[str, ...] = ()  # further answers that are as right

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right, the reference answer first."""
        return (self.reference_answer, *self.aliases)

    @classmethod
    def of(cls, problem: Problem, completion: str) -> Sample:
        """A completion of a problem."""
        worked = str(problem.metadata.get("worked_solution", ""))
        return cls(
            problem.question,
            problem.reference_answer,
            completion,
            problem.problem_id,
            worked,
            aliases=problem.aliases,
        )


@dataclass(frozen=True, slots=True)
class Rollout:
    """A sample with the rule's verification, the reward model's score before the step's update, and its reward.

    `Cooper.judge` makes it of a sample alone. With its batch it is completed: its sample has the number of its group,
    its verification agrees with its group's (`method.doubt.complete`), and it is asked under wrong references
    (`method.counterfactual`).
    """

    sample: Sample
    verification: Verification
    score: float  # nan where there is no reward model
    reward: float | None  # None where it could not be judged: it then has no part in its group's baseline
    step_ends: tuple[int, ...] = ()  # offsets just after its steps, where the credit of steps needs them
    step_values: tuple[float, ...] = ()  # the value after each step: how probable it is that the whole will be right
    right_estimate: float = 0.0  # estimated probability that it is right although the rule calls it INCORRECT
    held_back: str = ""  # the witnesses by whom it is not taught as wrong: score, agreement, score+agreement, together
    start_score: float | None = None  # score by the reward model as it was when the run began; None where not measured
    counterfactual_reference: str | None = None  # the wrong one that it fits best; "": there was none; None: not asked
    counterfactual_score: float | None = None  # its score under that one

    @property
    def question(self) -> str:
        return self.sample.question

    @property
    def reference_answer(self) -> str:
        return self.sample.reference_answer

    @property
    def completion(self) -> str:
        return self.sample.completion

    @property
    def group(self) -> int:
        """Index of the prompt in its batch; its G rollouts share it."""
        return self.sample.group

    @property
    def verdict(self) -> Verdict:
        return self.verification.verdict

    @property
    def reason(self) -> Reason:
        return self.verification.reason

    @property
    def answer(self) -> str | None:
        """The answer that it states, in one writing."""
        return self.verification.answer

    @property
    def teachable_as_wrong(self) -> bool:
        """Whether stage 2 may teach it as wrong: it is surely wrong by the rule, and is not held back by doubt."""
        return self.verification.surely_wrong and not self.held_back

    def to_record(self) -> dict[str, Any]:
        """The rollout in flat fields, as a run folder holds it."""
        s, v = self.sample, self.verification
        judged = s.question, s.reference_answer, s.completion, self.score, v.verdict, v.reason, self.reward
        more = s.group, s.problem_id, s.worked_solution, v.several_answers, v.answer
        own = (getattr(self, name) for name in OF_THE_BATCH)
        return dict(zip(ROLLOUT_FIELDS, (*judged, *more, *own, s.aliases), strict=True))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Rollout:
        """A rollout from its flat fields as JSON has them: verdict and reason are texts."""
        given = {name: record[name] for name in ("problem_id", "worked_solution", "group") if name in record}
        aliases = tuple(record.get("aliases") or ())
        sample = Sample(record["question"], record["reference_answer"], record["completion"], **given, aliases=aliases)
        verdict, reason = Verdict(record["verdict"]), Reason(record["reason"])
        several, answer = bool(record.get("several_answers")), record.get("answer")
        own = {name: record[name] for name in OF_THE_BATCH if name in record}
        own |= {name: tuple(own[name]) for name in ("step_ends", "step_values") if name in own}
        verification = Verification(verdict, reason, several_answers=several, answer=answer)
        return cls(sample, verification, record["score"], record["reward"], **own)


OF_THE_BATCH = (
    *("right_estimate", "held_back", "start_score", "counterfactual_reference", "counterfactual_score"),
    *("step_ends", "step_values"),
)
ROLLOUT_FIELDS = (
    *("question", "reference_answer", "completion", "score", "verdict", "reason", "reward", "group", "problem_id"),
    *("worked_solution", "several_answers", "answer", *OF_THE_BATCH, "aliases"),
)  # of `Rollout.to_record`, in its order


@dataclass(frozen=True, slots=True)
class Batch:
    """The rollouts of one generation of the policy, on all ranks. The method learns from a batch once."""

    step: int  # the training step that it belongs to, from 1
    rollouts: tuple[Rollout, ...]  # the rollouts of all ranks; groups are numbered from 0
    own: range | None = None  # which of them are this rank's; None: all
    version: int = 0  # updates that the reward model had when it scored
    seconds: float = 0.0  # time that judging and scoring took

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """The rewards of this rank's samples, in their order."""
        places = range(len(self.rollouts)) if self.own is None else self.own
        return tuple(self.rollouts[i].reward for i in places)

    def groups(self) -> dict[int, list[Rollout]]:
        """The rollouts of each prompt."""
        found: dict[int, list[Rollout]] = {}
        for rollout in self.rollouts:
            found.setdefault(rollout.group, []).append(rollout)
        return found


@dataclass(frozen=True, slots=True)
class ContrastivePair:
    """Stage 2's training record: a right and a wrong completion of the same problem.

    Both may be the same completion, which is wrong under another reference (`negative_reference`).
    """

    question: str
    reference_answer: str
    positive: str
    negative: str
    negative_source: str  # mined, assistant, perturb, shuffle, a user's own, or counterfactual
    positive_source: str = "rollout"  # rollout | worked_solution
    problem_id: str = ""
    at: int | None = None  # index of the step that both are compared after, too; None: they are compared as a whole
    negative_reference: str | None = None  # the wrong reference of the negative; None: it has the positive's

    @property
    def right(self) -> Triple:
        """The positive with its reference."""
        return Triple(self.question, self.reference_answer, self.positive)

    @property
    def wrong(self) -> Triple:
        """The negative with its reference."""
        return Triple(self.question, self.negative_reference or self.reference_answer, self.negative)


@dataclass(frozen=True, slots=True)
class Report:
    """What the method did with a batch. Monitors add to it one after another."""

    step: int
    batch: Batch | None = None  # None for a check before a checkpoint that follows no fresh batch
    metrics: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[ContrastivePair, ...] = ()  # pairs of all ranks that the reward model was updated on
    rolled_back: tuple[ContrastivePair, ...] = ()  # pairs of the updates that were rolled back
    stop: bool = False  # whether a monitor wants the run to end

    def having(self, metrics: Mapping[str, float], **changes: Any) -> Report:
        """A copy of this report with these metrics added and these fields replaced."""
        return replace(self, metrics={**self.metrics, **metrics}, **changes)
