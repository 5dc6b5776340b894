"""Packs sequences of similar length into batches with a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def packed(order: Iterable[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """The rows of `order` in batches. Each batch has as many rows as fit into `batch_tokens`, with padding counted.

    Args:
        order: rows sorted by their length, up or down, so that a batch needs little padding.
        lengths: the number of tokens of each row.
        batch_tokens: the most tokens of a batch, where each row is padded to the longest one. A row that is longer than
            this gets a batch of its own.
    """
    batch: list[int] = []
    for row in order:
        if batch and (len(batch) + 1) * max(lengths[batch[0]], lengths[row]) > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
