"""What every back end can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Messages = Sequence[dict[str, str]]


class Generator(Protocol):
    """Prompts (chat messages) in, completions out, in order."""

    def generate_or_none(
        self,
        prompts: Sequence[Messages],
        *,
        max_new_tokens: int,
        temperature: float,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str | None]:
        """One completion a prompt; None where the back end failed."""
        ...
