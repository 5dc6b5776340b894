"""The paper's negatives: a language model rewrites a right solution into a wrong one of like form (section 3.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from cooper_rl.generation import Generator, Sampling
from cooper_rl.method.negatives.source import NegativeSource, Slot
from cooper_rl.records import Batch

INSTRUCTION = """Below are a problem and a correct solution. Write the solution again with one mistake in it, so that \
it ends in a different, wrong final answer. Keep its wording, format and length. Do not say that it is wrong. \
Write only the changed solution.

Problem:
{question}

Correct solution:
{solution}"""
FAILED_STEPS = 2  # after this many steps in a row without any rewrite, a server is paused
PAUSE_STEPS = 10  # a paused server is not asked for this many steps; then one step tries it again


class Assistant(NegativeSource):
    """Wrong rewrites from any `Generator`. A request that fails leaves its slot open and does not stop the step.

    A generator outside this process (a server) is asked as soon as the batch is scored, and writes while the policy is
    trained. A server that gives no rewrite for `FAILED_STEPS` steps is not asked for `PAUSE_STEPS` steps.

    Args:
        generator: the assistant; in the paper the policy's own base model.
        max_new_tokens: a rewrite may have this many tokens.
        seed: rewrites are sampled with this seed.
    """

    def __init__(self, generator: Generator, max_new_tokens: int, seed: int) -> None:
        self.generator = generator
        self.max_new_tokens = max_new_tokens
        self.seed = seed
        self.thread = ThreadPoolExecutor(1) if generator.elsewhere else None
        self.begun: tuple[list[Slot], Future[list[str | None]]] | None = None
        self.asked = self.failed = 0
        self.wait_seconds = 0.0
        self.failed_steps = self.pause = 0

    def begin(self, slots: Sequence[Slot]) -> None:
        """Asks a server for the first rewrites of a step, in the background."""
        if self.thread and not self.pause and slots:
            self.begun = (list(slots), self.thread.submit(self._ask, list(slots), 0))

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        """One rewrite for each slot, None where the request failed. Each attempt samples with another seed."""
        started = time.perf_counter()
        begun, self.begun = self.begun, None
        texts: dict[Slot, str | None] = {}
        if not self.pause:
            if begun and attempt == 0:
                texts = dict(zip(begun[0], begun[1].result(), strict=True))
            rest = [slot for slot in slots if slot not in texts]
            texts |= zip(rest, self._ask(rest, attempt) if rest else [], strict=True)
            self.asked += len(slots)
            self.failed += sum(texts.get(slot) is None for slot in slots)
        found = [texts.get(slot) for slot in slots]
        self.wait_seconds += time.perf_counter() - started
        return found

    def _ask(self, slots: Sequence[Slot], attempt: int) -> list[str | None]:
        prompts = [
            [{"role": "user", "content": INSTRUCTION.format(question=slot.question, solution=slot.positive)}]
            for slot in slots
        ]
        return self.generator.generate_or_none(prompts, Sampling(self.max_new_tokens, 1.0), self.seed + attempt)

    def end_step(self) -> dict[str, float]:
        """Returns the step's metrics, and pauses a server that has failed too often."""
        metrics = {
            **({"pairs/assistant_failure_rate": self.failed / self.asked} if self.asked else {}),
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
