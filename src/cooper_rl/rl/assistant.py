"""The assistant of stage 2: a language model that rewrites a right solution into a wrong one of like form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cooper_rl.llm import Generator
from cooper_rl.llm.in_process import TransformersGenerator

if TYPE_CHECKING:
    from cooper_rl.rl.trainer import CooperTrainer

INSTRUCTION = """Below are a problem and a correct solution. Write the solution again with one mistake in it, so that \
it ends in a different, wrong final answer. Keep its wording, format and length. Do not say that it is wrong. \
Write only the changed solution.

Problem:
{question}

Correct solution:
{solution}"""


class Assistant:
    """Wrong rewrites from any `Generator`; None where it failed, so that a step can go on."""

    def __init__(self, generator: Generator, max_new_tokens: int, seed: int) -> None:
        self.generator = generator
        self.max_new_tokens = max_new_tokens
        self.seed = seed
        self.calls = 0

    @classmethod
    def of(cls, trainer: CooperTrainer, generator: Generator | None) -> Assistant:
        """The given generator, or the policy's base model: GRPO's reference policy in process."""
        if generator is None:
            base = trainer.ref_model
            if base is None:
                import transformers

                path = trainer.model.config._name_or_path
                base = transformers.AutoModelForCausalLM.from_pretrained(path).to(trainer.accelerator.device)
            generator = TransformersGenerator(trainer.accelerator.unwrap_model(base), trainer.processing_class)
        return cls(generator, trainer.args.max_completion_length, trainer.args.seed)

    def __call__(self, requests: Sequence[tuple[str, str]], attempt: int) -> list[str | None]:
        """One rewrite for each (question, right solution); another attempt draws anew."""
        prompts = [
            [{"role": "user", "content": INSTRUCTION.format(question=question, solution=solution)}]
            for question, solution in requests
        ]
        return self.generator.generate_or_none(
            prompts, max_new_tokens=self.max_new_tokens, temperature=1.0, seed=self.seed + attempt
        )
