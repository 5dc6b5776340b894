"""What should not be trained on: near-duplicates, and questions that a benchmark has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Lower-case words and numbers."""
    return _WORD.findall(text.lower())


def ngrams(tokens: Sequence[str], n: int) -> set[tuple[str, ...]]:
    """All runs of n tokens; a shorter text is one run."""
    return {tuple(tokens[i : i + n]) for i in range(max(1, len(tokens) - n + 1))}


class Decontamination:
    """Finds questions that share a run of `n` words with a benchmark's question, or, if shorter, are one of them."""

    def __init__(self, benchmarks: Mapping[str, Iterable[str]], n: int = 13) -> None:
        self.n = n
        self._owner: dict[tuple[str, ...], str] = {}
        for name, questions in benchmarks.items():
            for question in questions:
                for gram in ngrams(words(question), n):
                    self._owner.setdefault(gram, name)

    def benchmark_of(self, question: str) -> str | None:
        """The benchmark with which the question overlaps."""
        return next((self._owner[g] for g in ngrams(words(question), self.n) if g in self._owner), None)


def near_duplicates(completions: Sequence[str], share: float, n: int = 5) -> list[int]:
    """Indices of completions that repeat an earlier one: of all n-grams of the two at least `share` in common."""
    kept: list[set[tuple[str, ...]]] = []
    repeated = []
    for index, completion in enumerate(completions):
        grams = ngrams(words(completion), n)
        if any(len(grams & other) >= share * len(grams | other) for other in kept):
            repeated.append(index)
        else:
            kept.append(grams)
    return repeated
