"""The requests that other trainers send to a remote reward model (docs/cooper-in-your-trainer.md)."""

from __future__ import annotations

import re
import uuid
from typing import Any

from pydantic import BaseModel

from cooper_rl.serve.errors import RefusedError
from cooper_rl.serve.wire import SampleBody, ScoreAnswer, ScoreBody, Text

END_TOKEN = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|</s>|<eos>|<end_of_turn>)\Z")  # how a decoded completion may end
LONGEST_END = 50  # characters


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


def gathered(stream: str, question: str, reference: str, completion: str) -> SampleBody:
    """A sample of a trainer that names none: each request is a new sample."""
    return SampleBody(
        id=f"{stream}-{uuid.uuid4().hex}", question=question, reference_answer=reference, completion=completion
    )


def without_end(completion: str) -> str:
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
        samples.append(gathered("openrlhf", prompt, label, without_end(completion)))
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
    sample = gathered("slime", question, _written(body.label), without_end(body.response))
    return ScoreBody(samples=[sample], gather="slime")


def _written(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
