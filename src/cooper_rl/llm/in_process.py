"""A transformers model in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cooper_rl.llm.generator import Messages
from cooper_rl.llm.sample import sample_messages


class TransformersGenerator:
    """A causal language model and its tokenizer; leaves the model's mode and the random state as they were."""

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size

    def generate_or_none(
        self,
        prompts: Sequence[Messages],
        *,
        max_new_tokens: int,
        temperature: float,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str | None]:
        """One completion a prompt."""
        return list(
            sample_messages(
                self.model,
                self.tokenizer,
                prompts,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                top_p=top_p,
                seed=seed,
                batch_size=self.batch_size,
            )
        )
