"""Stage 1 for TRL: a reward callable. It is no nn.Module, so that TRL passes it every column, the reference too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cooper_rl.engines.credit import reference_values
from cooper_rl.errors import BadInputError
from cooper_rl.generation.sample import rendered
from cooper_rl.method.credit import Ends, Values
from cooper_rl.records import Batch, Sample

if TYPE_CHECKING:
    from cooper_rl.engines.trl.trainer import CooperTrainer


class CooperReward:
    """Scores each generation batch with the method, and keeps the scored batch for stage 2."""

    __name__ = "cooper"

    def __init__(self) -> None:
        self.trainer: CooperTrainer | None = None
        self.batch: Batch | None = None  # scored, but stage 2 has not learned from it yet
        self.completion_ids: Sequence[Sequence[int]] = ()  # of the batch, in its order
        self.started = 0.0

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        reference_answer: Sequence[str],
        question: Sequence[str] | None = None,
        problem_id: Sequence[str] | None = None,
        worked_solution: Sequence[str] | None = None,
        completion_ids: Sequence[Sequence[int]] = (),
        **_: Any,
    ) -> list[float]:
        """Rewards of a generation batch in TRL's order: the G completions of a prompt follow one another."""
        assert self.trainer
        self.started = time.perf_counter()
        nothing = [""] * len(prompts)
        columns = zip(
            question or [text_of(prompt) for prompt in prompts],
            map(str, reference_answer),
            [text_of(completion) for completion in completions],
            problem_id or nothing,
            worked_solution or nothing,
            strict=True,
        )
        samples = [Sample(*row) for row in columns]
        policy_values = partial(self._reference_values, prompts, samples)
        if not self.trainer.model.training:  # an evaluation: no pairs are drawn, and stage 2 does not learn from it
            return [rollout.reward for rollout in self.trainer.cooper.judge(samples, policy_values).rollouts]
        batch = self.trainer.cooper.score(samples, self.trainer.state.global_step + 1, policy_values)
        self.completion_ids = completion_ids
        self.batch = batch
        return list(batch.rewards)

    def _reference_values(self, prompts: Sequence[Any], samples: Sequence[Sample], ends: Ends) -> Values:
        """The policy's own values of steps, for the credit `reference_gain`."""
        assert self.trainer
        tokenizer = self.trainer.processing_class
        template = self.trainer.args.chat_template_kwargs
        ids = [  # as TRL encodes them: a plain prompt gets the tokenizer's first token, a template writes its own
            tokenizer(prompt)["input_ids"]
            if isinstance(prompt, str)
            else tokenizer(rendered(tokenizer, [prompt], template)[0], add_special_tokens=False)["input_ids"]
            for prompt in prompts
        ]
        policy = self.trainer.accelerator.unwrap_model(self.trainer.model)
        values: Values = reference_values(policy, tokenizer, ids, samples, ends)
        return values


def text_of(messages: Any) -> str:
    """The text of a completion or prompt, plain or conversational (its last message).

    Raises:
        BadInputError: the message has parts that are not text.
    """
    if isinstance(messages, str):
        return messages
    content = messages[-1]["content"]
    if content is None or isinstance(content, str):
        return content or ""
    others = sorted({part.get("type", "?") for part in content} - {"text"})
    if others:
        raise BadInputError(f"a prompt has a part of type {others[0]}; the reward model reads text alone")
    return "\n".join(part["text"] for part in content)
