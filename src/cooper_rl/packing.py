"""Batches of token ids: padded, packed by their length, or continuing a prefix that several rows share."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer


class IntRows:
    """Rows of whole numbers, 4 bytes each; as Python's numbers they take 8, and 28 more above 256."""

    def __init__(self) -> None:
        self.flat, self.ends = array("i"), array("q", [0])

    def append(self, row: Sequence[int]) -> None:
        """Adds a row."""
        self.flat.extend(row)
        self.ends.append(len(self.flat))

    def lengths(self) -> list[int]:
        """How many numbers each row has."""
        return [end - start for start, end in pairwise(self.ends)]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, row: int) -> list[int]:
        place = range(len(self))[row]
        return self.flat[self.ends[place] : self.ends[place + 1]].tolist()


def pad(ids_B_T: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Right-padded ids and attention mask, both (B, T)."""
    lengths = torch.tensor([len(ids_T) for ids_T in ids_B_T])
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    flat = np.fromiter(chain.from_iterable(ids_B_T), dtype=np.int64, count=int(lengths.sum()))
    ids = torch.full(mask.shape, pad_id)
    ids[mask] = torch.from_numpy(flat)
    return ids, mask.long()


def tokens_of_a_pass(device: str) -> int:
    """Padded tokens of a forward pass on this type of device. On a CPU small passes pad less and stay in the cache."""
    return 768 if device == "cpu" else 16384


def buckets(rows: Sequence[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Rows of like length together, longest first, as many as fit into `batch_tokens` padded tokens."""
    return pack_rows(sorted(rows, key=lambda row: -lengths[row]), lengths, batch_tokens)


def pack_rows(order: Iterable[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
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


def cut(batch: Mapping[str, Tensor], tokens: int) -> list[dict[str, Tensor]]:
    """A padded batch in parts of at most `tokens`, with padding counted: rows of like length together.

    Args:
        batch: `input_ids` and `attention_mask`, (B, T), padded on the right, and other columns of B rows. It is the
            only part where it fits. A row that is longer than `tokens` is a part of its own.
    """
    if batch["input_ids"].numel() <= tokens:
        return [dict(batch)]
    lengths, parts = batch["attention_mask"].sum(1).tolist(), []
    for rows in buckets(range(len(lengths)), lengths, tokens):
        part = {name: column[rows] for name, column in batch.items()}
        width = max(lengths[row] for row in rows)
        parts.append(part | {name: part[name][:, :width] for name in ("input_ids", "attention_mask")})
    return parts


def has_plain_layers(cache: Any, tokens: int | None = None) -> bool:
    """Whether a cache holds every token of every layer: no sliding windows, no recurrent states, nothing quantised.

    Args:
        tokens: that many tokens come; a window as wide as that is none.
    """

    def is_plain(layer: Any) -> bool:
        wide = tokens is not None and type(layer) is DynamicSlidingWindowLayer and tokens <= layer.sliding_window
        return type(layer) is DynamicLayer or wide

    layers = cache.layers if type(cache) is DynamicCache else []
    return bool(layers) and all(map(is_plain, layers))


def spread(prefixes: DynamicCache, place_B: Tensor, width: int, config: Any) -> DynamicCache:
    """A cache whose row b has the first `width` keys and values of prefix `place_B[b]`."""
    cache = DynamicCache(config=config)
    for index, layer in enumerate(prefixes.layers):
        # index_select: on a CPU its gradient is added up in a fixed order, and a resumed run is the one that would have
        # been; CUDA adds up by atomics, in any order
        keys, values = (side[:, :, :width].index_select(0, place_B) for side in (layer.keys, layer.values))
        cache.update(keys, values, index)
    return cache
