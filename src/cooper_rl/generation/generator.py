"""What every back end can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Messages = Sequence[dict[str, str]]


def conversation(question: str, system_prompt: str | None = None) -> list[dict[str, str]]:
    """The messages that ask a question."""
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*system, {"role": "user", "content": question}]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn; greedily at temperature 0."""

    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class Generation:
    """A completion and why it ended: `stop`, `length`, or, where text is None, what went wrong."""

    text: str | None
    finish_reason: str


class Generator(ABC):
    """Prompts (chat messages) in, completions out."""

    elsewhere = False  # whether it works outside this process, and so beside it

    @abstractmethod
    def stream(
        self, prompts: Sequence[Messages], sampling: Sampling, seeds: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Generation]]:
        """(index, generation) of each prompt, as they are finished.

        Args:
            seeds: one for each prompt, for back ends that sample request by request; a batch takes its first.
        """

    def generate_or_none(
        self,
        prompts: Sequence[Messages],
        sampling: Sampling,
        seed: int = 0,
    ) -> list[str | None]:
        """One completion a prompt, in order; None where the back end failed."""
        texts: list[str | None] = [None] * len(prompts)
        seeds = range(seed, seed + len(prompts))
        for index, generation in self.stream(prompts, sampling, seeds):
            texts[index] = generation.text
        return texts
