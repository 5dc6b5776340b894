"""Sequences of like length in batches of a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def packed(order: Iterable[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """The rows of `order` in batches, each as many as fit into `batch_tokens` tokens with the padding.

    Args:
        order: rows sorted by their length, up or down, so that a batch needs little padding.
        lengths: the tokens of each row.
        batch_tokens: what a batch may hold, each row padded to the longest of it; a longer row is alone.
    """
    batch: list[int] = []
    for row in order:
        if batch and (len(batch) + 1) * max(lengths[batch[0]], lengths[row]) > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
