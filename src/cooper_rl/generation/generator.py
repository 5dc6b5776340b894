"""The interface of all back ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Messages = Sequence[dict[str, str]]
REFUSED = "refused"  # how the reason of a failure begins that another try would not mend


def conversation(question: str, system_prompt: str | None = None) -> list[dict[str, str]]:
    """The chat messages that ask a question, with the system prompt first if there is one."""
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*system, {"role": "user", "content": question}]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn. Temperature 0 is greedy."""

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Generation:
    """A completion and why it ended: `stop` or `length`. If the text is None, `finish_reason` says what went wrong."""

    text: str | None
    finish_reason: str

    @property
    def refused(self) -> bool:
        """Whether a server refused the prompt and would do so again."""
        return self.finish_reason.startswith(REFUSED)


class Generator(ABC):
    """Writes completions of prompts, which are lists of chat messages."""

    elsewhere = False  # True for a back end outside this process, which can work while this process does

    @abstractmethod
    def stream(
        self, prompts: Sequence[Messages], sampling: Sampling, seeds: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Generation]]:
        """(index, generation) of each prompt, in the order in which they are finished.

        Args:
            seeds: one for each prompt. A back end that samples in batches uses the first seed of each batch.
        """

    def generate_or_none(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seed: int = 0,
    ) -> list[str | None]:
        """One completion for each prompt, in order; None where the back end failed."""
        texts: list[str | None] = [None] * len(prompts)
        seeds = range(seed, seed + len(prompts))
        for index, generation in self.stream(prompts, sampling, seeds):
            texts[index] = generation.text
        return texts
