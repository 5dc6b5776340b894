"""Stage 1 for TRL: a reward callable. It is no nn.Module, so that TRL passes it every column, the reference too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cooper_rl.engines.credit import reference_values
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
            reference_answer,
            [text_of(completion) for completion in completions],
            problem_id or nothing,
            worked_solution or nothing,
            strict=True,
        )
        samples = [Sample(*row) for row in columns]
        policy_values = partial(self._reference_values, prompts, samples)
        batch = self.trainer.cooper.score(samples, self.trainer.state.global_step + 1, policy_values)
        self.completion_ids = completion_ids
        if self.trainer.model.training:  # in an evaluation the batch is scored, but stage 2 does not learn from it
            self.batch = batch
        return list(batch.rewards)

    def _reference_values(self, prompts: Sequence[Any], samples: Sequence[Sample], ends: Ends) -> Values:
        """The policy's own values of steps, for the credit `reference_gain`."""
        assert self.trainer
        tokenizer = self.trainer.processing_class
        texts = [prompt if isinstance(prompt, str) else rendered(tokenizer, [prompt])[0] for prompt in prompts]
        ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
        policy = self.trainer.accelerator.unwrap_model(self.trainer.model)
        values: Values = reference_values(policy, tokenizer, ids, samples, ends)
        return values


def text_of(messages: Any) -> str:
    """The text of a completion or prompt, plain or conversational (its last message)."""
    return messages if isinstance(messages, str) else str(messages[-1]["content"])
