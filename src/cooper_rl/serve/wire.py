"""What clients send and get: bodies of requests and answers, and the shapes that other trainers send.

The other shapes are those of a remote reward model (docs/cooper-in-your-trainer.md).
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from cooper_rl.errors import CooperError
from cooper_rl.jsonl import finite
from cooper_rl.records import Rollout
from cooper_rl.settings.asking import ServerSettings

TEXTS = ("question", "reference_answer", "completion", "problem_id", "worked_solution", "group")
END_TOKEN = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|</s>|<eos>|<end_of_turn>)\Z")  # how a decoded completion may end
LONGEST_END = 50  # characters


class RefusedError(CooperError):
    """A call is refused; the answer is the status with one line.

    Args:
        status: 400, 401, 404, 409, 413, 429 or 503.
        message: what is wrong, and what to do.
        again: whether the same call may be answered later; the answer has the header Retry-After then.
    """

    def __init__(self, status: int, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.status, self.again = status, again or status == 429


def _writable(text: str) -> str:
    try:
        text.encode()  # fails on those alone, and is much faster than a look at each character
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character") from None
    return text


Text = Annotated[str, AfterValidator(_writable)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_writable)]  # in this order: characters are counted


class Body(BaseModel):
    """A JSON object without unknown keys."""

    model_config = ConfigDict(extra="forbid")


class SampleBody(Body):
    """One completion. Those of the same `group` are of one prompt; without it, those of the same problem are."""

    id: Name = Field(min_length=1, description="names the sample within its batch")
    question: Text
    reference_answer: Text
    completion: Text
    group: Text = ""
    problem_id: Text = ""
    worked_solution: Text = ""
    aliases: list[Text] = Field(default=[], max_length=100, description="further answers that are as right")

    @property
    def prompt(self) -> str:
        """What samples of the same prompt have in common."""
        return self.group or f"{self.question}\0{self.reference_answer}"

    def digest(self) -> bytes:
        """A fingerprint of the texts, by which a sample that comes again is known."""
        texts = [*(getattr(self, name) for name in TEXTS), *self.aliases]
        lengths = ",".join([str(len(text)) for text in texts])
        return hashlib.blake2b("\0".join([lengths, *texts]).encode(), digest_size=16).digest()


class ScoreBody(Body):
    """Samples to be scored. With `batch` or `gather` they are learned from; without either they are only scored."""

    samples: list[SampleBody]
    batch: Name = Field(default="", description="the batch that the samples belong to")
    last: bool = Field(default=False, description="whether these samples complete the batch")
    gather: Name = Field(default="", description="the server cuts what comes under this name into batches")


class LearnBody(Body):
    """The complete batch to learn from."""

    batch: Name = Field(min_length=1)


class ScoreAnswer(BaseModel):
    """One entry for each sample, in their order; `version` is of the oldest score among them."""

    version: int
    rewards: list[float | None]  # None: it could not be judged
    scores: list[float | None]
    verdicts: list[str]
    reasons: list[str]


class LearnAnswer(BaseModel):
    """The reward model's version after the batch, and the step's metrics."""

    version: int
    step: int
    metrics: dict[str, float | None]


class Health(BaseModel):
    """Whether the run goes on. With the status 503 it has stopped, and `error` says why."""

    status: Literal["ok", "stopped"]
    version: int
    step: int
    error: str | None = None


class Refusal(BaseModel):
    """The answer to a call that is refused: what is wrong, and what to do, in one line."""

    error: str


class Answer(NamedTuple):
    """What is recorded of one sample."""

    version: int
    reward: float | None
    score: float | None
    verdict: str
    reason: str

    @classmethod
    def of(cls, rollout: Rollout, version: int) -> Answer:
        """The answer about a rollout; a score that is not a number is None."""
        return cls(version, rollout.reward, finite(rollout.score), rollout.verdict.value, rollout.reason.value)


def join_answers(answers: Iterable[Answer], version: int) -> ScoreAnswer:
    """The answers about a call's samples.

    Args:
        version: the answer's version where there is no sample.
    """
    found = list(answers)
    return ScoreAnswer(
        version=min((each.version for each in found), default=version),
        rewards=[each.reward for each in found],
        scores=[each.score for each in found],
        verdicts=[each.verdict for each in found],
        reasons=[each.reason for each in found],
    )


def check_call(call: ScoreBody, limits: ServerSettings) -> None:
    """Refuses a call that is too large, or that contradicts itself.

    Raises:
        RefusedError: 400 or 413, with the sample and the way out.
    """
    if call.batch and call.gather:
        raise RefusedError(400, "give batch or gather, not both")
    if call.last and not call.batch:
        raise RefusedError(400, "last: there is no batch to complete; name it in batch")
    if not call.samples and not call.last:
        raise RefusedError(400, "samples: empty; give at least one")
    if len(call.samples) > limits.max_batch_samples:
        raise RefusedError(413, f"{len(call.samples)} samples: a batch has at most {limits.max_batch_samples}")
    seen: set[str] = set()
    for sample in call.samples:
        if sample.id in seen:
            raise RefusedError(400, f"sample {sample.id!r}: two samples have this id")
        seen.add(sample.id)
        texts = [*((name, getattr(sample, name)) for name in TEXTS), *(("an alias", text) for text in sample.aliases)]
        for name, text in texts:
            if len(text) > limits.max_characters:
                raise RefusedError(
                    413, f"sample {sample.id!r}: {name} has more than {limits.max_characters} characters"
                )
        if not sample.reference_answer.strip():
            raise RefusedError(400, f"sample {sample.id!r}: reference_answer is empty")


def finite_only(metrics: dict[str, Any]) -> dict[str, float | None]:
    """The metrics that are numbers, with None for those that are not finite."""
    return {name: finite(float(value)) for name, value in metrics.items() if isinstance(value, int | float)}


class OpenRLHFBody(BaseModel):
    """What OpenRLHF posts to `--reward.remote_url`; `query` is the prompt with the completion."""

    query: list[Text]
    prompts: list[Text]
    labels: list[Text]


class OpenRLHFAnswer(BaseModel):
    """What OpenRLHF reads."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class Message(BaseModel):
    """A message of a chat."""

    role: str
    content: Text


class SlimeBody(BaseModel):
    """What slime posts for one sample with `--rm-type remote_rm`; its answer is a bare number."""

    prompt: Text | list[Message]
    response: Text
    label: Text | int | float


def new_sample(stream: str, question: str, reference: str, completion: str) -> SampleBody:
    """A sample of a trainer that names none: each request is a new sample."""
    return SampleBody(
        id=f"{stream}-{uuid.uuid4().hex}", question=question, reference_answer=reference, completion=completion
    )


def strip_end(completion: str) -> str:
    """A decoded completion without the special tokens and the blanks that it ends with, in linear time."""
    text = completion.rstrip()
    while found := END_TOKEN.search(text, max(0, len(text) - LONGEST_END)):
        text = text[: found.start()].rstrip()
    return text


def of_openrlhf(body: OpenRLHFBody) -> ScoreBody:
    """A call from OpenRLHF.

    Raises:
        RefusedError: the three lists differ in length, a prompt is empty, or a query does not hold its prompt.
    """
    if not len(body.query) == len(body.prompts) == len(body.labels):
        raise RefusedError(400, "query, prompts and labels must have the same length")
    samples = []
    for query, prompt, label in zip(body.query, body.prompts, body.labels, strict=True):
        if not prompt:
            raise RefusedError(400, "prompts: one is empty")
        _, found, completion = query.partition(prompt)
        if not found:
            raise RefusedError(400, "query does not hold its prompt; the completion is what follows the prompt in it")
        samples.append(new_sample("openrlhf", prompt, label, strip_end(completion)))
    return ScoreBody(samples=samples, gather="openrlhf")


def to_openrlhf(answer: ScoreAnswer) -> OpenRLHFAnswer:
    """The answer for OpenRLHF: rewards to train on, and what is logged beside them."""
    logs = {
        "cooper_score": [float("nan") if score is None else score for score in answer.scores],
        "cooper_rule": [float(verdict == "CORRECT") for verdict in answer.verdicts],
        "cooper_version": [float(answer.version)] * len(answer.rewards),
    }
    if None in answer.scores:
        del logs["cooper_score"]
    rewards = [reward or 0.0 for reward in answer.rewards]  # OpenRLHF has no value for what could not be judged
    return OpenRLHFAnswer(rewards=rewards, scores=rewards, extra_logs=logs)


def of_slime(body: SlimeBody) -> ScoreBody:
    """A call from slime. Of a chat, the last message is the question.

    Raises:
        RefusedError: the chat is empty.
    """
    if not body.prompt:
        raise RefusedError(400, "prompt: empty")
    question = body.prompt if isinstance(body.prompt, str) else body.prompt[-1].content
    sample = new_sample("slime", question, _write_label(body.label), strip_end(body.response))
    return ScoreBody(samples=[sample], gather="slime")


def _write_label(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
