"""Negative sources: where the wrong completions of stage 2 come from. Each is a `NegativeSource`.

The paper's is `Assistant` (section 3.3): a language model rewrites a right solution into a wrong one of like form. The
others need no second model; they are ours.
"""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cooper_rl.generation import Generator, Sampling
from cooper_rl.parts import find
from cooper_rl.records import Batch, ContrastivePair, Rollout, Verdict, Verification
from cooper_rl.synthesis.wrong_numbers import perturb

KNOWN = {
    "mined": "cooper_rl.method.negatives:Mined",
    "assistant": "cooper_rl.method.negatives:Assistant",
    "perturb": "cooper_rl.method.negatives:Perturb",
    "shuffle": "cooper_rl.method.negatives:Shuffle",
}
GROUP = "cooper_rl.negative_sources"
INSTRUCTION = """Below are a problem and a correct solution. Write the solution again with one mistake in it, so that \
it ends in a different, wrong final answer. Keep its wording, format and length. Do not say that it is wrong. \
Write only the changed solution.

Problem:
{question}

Correct solution:
{solution}"""
FAILED_STEPS = 2  # after this many steps in a row without any rewrite, a server is paused
PAUSE_STEPS = 10  # a paused server is not asked for this many steps; then one step tries it again


@dataclass(eq=False)
class Slot:
    """A pair that still needs its negative: the prompt's rollouts, the positive, and the source of the negative."""

    group: Sequence[Rollout]
    positive: str
    positive_source: str
    negative_source: str
    rng: random.Random  # the prompt's own, seeded by run, step and prompt

    @property
    def question(self) -> str:
        return self.group[0].question

    @property
    def reference_answer(self) -> str:
        return self.group[0].reference_answer

    @property
    def references(self) -> tuple[str, ...]:
        """The answers that count as right. A negative is wrong by each of them."""
        return self.group[0].sample.references

    def right_estimate(self, negative: str) -> float:
        """The estimated probability that a negative is right after all; 0 where it is no doubtful rollout."""
        return max((r.right_estimate for r in self.group if r.completion == negative), default=0.0)

    def pair(self, negative: str) -> ContrastivePair:
        """The pair with this negative."""
        return ContrastivePair(
            self.question,
            self.reference_answer,
            self.positive,
            negative,
            self.negative_source,
            self.positive_source,
            self.group[0].sample.problem_id,
        )


class NegativeSource(ABC):
    """Proposes wrong completions. The rule verifier judges each one before it becomes a negative.

    A subclass is constructed without arguments, once a run. A user's own is named in `negative_sources`, as
    `module:Class` or as an entry point of the group `cooper_rl.negative_sources`.
    """

    judged = False  # True: it proposes rollouts, which have a verdict already; each is proposed once

    def begin(self, slots: Sequence[Slot]) -> None:
        """Called with this rank's slots as soon as the batch is scored, so that a slow source can start early."""

    @abstractmethod
    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        """A completion for each slot, None where the source has none.

        Args:
            slots: those that still need a negative.
            batch: the batch that the slots were drawn from.
            attempt: counts from 0; a slot whose proposal was not found wrong comes again with the next number.
        """

    def accepts(self, verification: Verification) -> bool:
        """Whether a proposal with this verification is wrong enough: shown to differ from the reference answer."""
        return verification.verdict is Verdict.INCORRECT

    def end_step(self) -> dict[str, float]:
        """Called at the end of each step. Returns the source's metrics of the step."""
        return {}


def find_source(name: str) -> type[NegativeSource]:
    """The source of this name, import path or entry point.

    Raises:
        BadInputError: there is no such source.
    """
    found: type[NegativeSource] = find(GROUP, name, KNOWN)
    return found


class Mined(NegativeSource):
    """Proposes the wrong completions that the reward model scores highest, so that it learns to reject them."""

    judged = True

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        exploits: dict[int, Iterator[str]] = {}  # by prompt; the slots of a prompt share them
        return [next(exploits.setdefault(slot.group[0].group, rank_mined(slot.group)), None) for slot in slots]


def rank_mined(group: Sequence[Rollout]) -> Iterator[str]:
    """The group's completions that may be taught as wrong, by falling score, each text once."""
    ranked = sorted(group, key=lambda rollout: -rollout.score)
    return iter({rollout.completion: None for rollout in ranked if rollout.teachable_as_wrong})


class Perturb(NegativeSource):
    """Changes a number in the reasoning and computes the steps after it anew, so that the answer changes too."""

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        return [perturb(slot.positive, slot.rng) for slot in slots]


class Shuffle(NegativeSource):
    """Proposes a completion of another prompt, drawn at random."""

    def propose(self, slots: Sequence[Slot], batch: Batch, attempt: int) -> list[str | None]:
        proposals: list[str | None] = []
        for slot in slots:
            others = [rollout.completion for rollout in batch.rollouts if rollout.group != slot.group[0].group]
            proposals.append(slot.rng.choice(others) if others else None)
        return proposals


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
