"""A transformers model in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from cooper_rl.attention import use_short_attention
from cooper_rl.distributed import own_device
from cooper_rl.errors import BadInputError
from cooper_rl.generation.generator import Generation, Generator, Messages, Sampling
from cooper_rl.generation.sample import generate_batch, in_order_of_length, isolated, rendered


class TransformersGenerator(Generator):
    """A causal language model and its tokenizer. Generating does not change the model's mode or the random state.

    Args:
        bf16: True computes forward passes in bfloat16, whatever type the weights have.
    """

    template: Mapping[str, Any] | None = None  # further arguments of the chat template, such as `enable_thinking`

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 32, *, bf16: bool = False) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.bf16 = bf16
        use_short_attention()

    @classmethod
    def from_pretrained(cls, name: str, batch_size: int = 32) -> TransformersGenerator:
        """Loads a local folder, a hub id or a `.gguf` file (which needs the package gguf).

        On a CPU the weights are float32; elsewhere they keep their own type.

        Raises:
            BadInputError: the model cannot be loaded, or has no chat template.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        where: dict[str, str] = {"pretrained_model_name_or_path": name}
        if name.endswith(".gguf"):
            path = Path(name)
            where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        device = own_device()
        try:
            tokenizer = AutoTokenizer.from_pretrained(**where)
            dtype = torch.float32 if device.type == "cpu" else "auto"
            model = AutoModelForCausalLM.from_pretrained(**where, dtype=dtype).to(device)
        except (OSError, ValueError, ImportError) as error:
            raise BadInputError(f"{name}: cannot be loaded: {str(error).splitlines()[0]}") from error
        if not tokenizer.chat_template:
            raise BadInputError(f"{name}: its tokenizer has no chat template; use an instruction-tuned model")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return cls(model, tokenizer, batch_size)

    def stream(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, Generation]]:
        """Generates in batches of prompts of similar length, the shortest first."""
        texts = rendered(self.tokenizer, prompts, self.template)
        for rows in in_order_of_length(texts, self.batch_size):
            with (
                isolated(self.model, seeds[rows[0]] if seeds else 0),
                torch.autocast(self.model.device.type, dtype=torch.bfloat16, enabled=self.bf16),
            ):
                batch = generate_batch(self.model, self.tokenizer, [texts[i] for i in rows], sampling)
            yield from zip(rows, batch, strict=True)
