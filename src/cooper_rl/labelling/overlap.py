"""Finds what should not be trained on: near-duplicates, and questions that are in a benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-case words and numbers."""
    return _WORD.findall(text.lower())


def ngrams(tokens: Sequence[str], n: int) -> set[tuple[str, ...]]:
    """All runs of n tokens. A text of fewer tokens is one run."""
    return {tuple(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1))}


class Decontamination:
    """Finds questions that share `n` words in a row with a benchmark's question, or equal it if they are shorter."""

    def __init__(self, benchmarks: Mapping[str, Iterable[str]], n: int = 13) -> None:
        self.n = n
        self._owner: dict[tuple[str, ...], str] = {}
        for name, questions in benchmarks.items():
            for question in questions:
                for gram in ngrams(words(question), n):
                    self._owner.setdefault(gram, name)

    def benchmark_of(self, question: str) -> str | None:
        """The benchmark that the question overlaps with; None if there is none."""
        return next((self._owner[g] for g in ngrams(words(question), self.n) if g in self._owner), None)


def near_duplicates(completions: Sequence[str], share: float, n: int = 5) -> list[int]:
    """Indices of completions that repeat an earlier one: at least `share` of the n-grams of both are in both."""
    kept: list[set[tuple[str, ...]]] = []
    repeated = []
    for index, completion in enumerate(completions):
        grams = ngrams(words(completion), n)
        if any(len(grams & other) >= share * len(grams | other) for other in kept):
            repeated.append(index)
        else:
            kept.append(grams)
    return repeated
