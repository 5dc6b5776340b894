"""The assistant of stage 2: a language model that rewrites a right solution into a wrong one of like form."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from cooper_rl.generation import Generator, OpenAIServer, Sampling
from cooper_rl.generation.in_process import TransformersGenerator

if TYPE_CHECKING:
    from cooper_rl.engines.trl.trainer import CooperTrainer

INSTRUCTION = """Below are a problem and a correct solution. Write the solution again with one mistake in it, so that \
it ends in a different, wrong final answer. Keep its wording, format and length. Do not say that it is wrong. \
Write only the changed solution.

Problem:
{question}

Correct solution:
{solution}"""
FAILED_STEPS = 2  # in a row without one rewrite, before a server is left alone
PAUSE_STEPS = 10  # for which it is left alone; then one step tries it again

Request = tuple[str, str]  # question, right solution


class Assistant:
    """Wrong rewrites from any `Generator`; None where it failed, so that a step can go on.

    A server is asked as soon as the rewards are there (`begin`) and works while the policy is trained; one that gives
    nothing for `FAILED_STEPS` steps is left alone for `PAUSE_STEPS`.
    """

    def __init__(self, generator: Generator, max_new_tokens: int, seed: int) -> None:
        self.generator = generator
        self.max_new_tokens = max_new_tokens
        self.seed = seed
        self.begun: tuple[list[Request], Future[list[str | None]]] | None = None
        self.thread = ThreadPoolExecutor(1) if isinstance(generator, OpenAIServer) else None
        self.asked = self.failed = 0
        self.wait_seconds = 0.0
        self.failed_steps = self.pause = 0

    @classmethod
    def of(cls, trainer: CooperTrainer, generator: Generator | None) -> Assistant:
        """The given generator, or the policy's base model: GRPO's reference policy in process."""
        if generator is None:
            base = trainer.ref_model
            if base is None:
                generator = TransformersGenerator.from_pretrained(trainer.model.config._name_or_path)
            else:
                generator = TransformersGenerator(trainer.accelerator.unwrap_model(base), trainer.processing_class)
        return cls(generator, trainer.args.max_completion_length, trainer.args.seed)

    def begin(self, requests: Sequence[Request]) -> None:
        """Asks a server for the first rewrites of a step, in the background."""
        if self.thread and not self.pause and requests:
            self.begun = (list(requests), self.thread.submit(self._ask, list(requests), 0))

    def __call__(self, requests: Sequence[Request], attempt: int) -> list[str | None]:
        """One rewrite for each request; another attempt draws anew."""
        started = time.perf_counter()
        if self.pause:
            texts: list[str | None] = [None] * len(requests)
        elif attempt == 0 and self.begun and self.begun[0] == list(requests):
            texts = self.begun[1].result()
        else:
            texts = self._ask(requests, attempt)
        self.begun = None
        self.asked += len(texts)
        self.failed += sum(text is None for text in texts)
        self.wait_seconds += time.perf_counter() - started
        return texts

    def _ask(self, requests: Sequence[Request], attempt: int) -> list[str | None]:
        prompts = [
            [{"role": "user", "content": INSTRUCTION.format(question=question, solution=solution)}]
            for question, solution in requests
        ]
        return self.generator.generate_or_none(prompts, Sampling(self.max_new_tokens, 1.0), self.seed + attempt)

    def end_step(self) -> dict[str, float]:
        """Metrics of the step, and the decision whether a server is left alone for a while."""
        metrics = {
            "pairs/assistant_failure_rate": self.failed / max(1, self.asked),
            "pairs/assistant_paused": float(self.pause > 0),
            "time/assistant_wait_seconds": self.wait_seconds,
        }
        if self.pause:
            self.pause -= 1
        elif self.asked:
            self.failed_steps = self.failed_steps + 1 if self.failed == self.asked else 0
            if self.thread and self.failed_steps >= FAILED_STEPS:
                self.pause, self.failed_steps = PAUSE_STEPS, FAILED_STEPS - 1
        self.asked = self.failed = 0
        self.wait_seconds = 0.0
        return metrics
