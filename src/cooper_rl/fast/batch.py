"""A batch that is being written: its rows, its keys and values, and which rows have ended.

Prompts that are equal are computed once. Keys and values are written into room kept for them, where transformers'
`DynamicLayer` copies all of them for each token. Rows that have ended leave, and those at the end take their places.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64  # tokens that a layer's buffer grows by
LEAVE_SHARE = 8  # rows leave the batch when at least one in so many has ended
CHECK_EVERY = 8  # tokens between two looks at which rows have ended, on an accelerator, where each look waits for it


class Batch:
    """The rows that are still written, out of B, and everything that the next forward pass needs of them."""

    def __init__(
        self, model: Any, input_ids: Tensor, max_length: int, eos_ids: Tensor | None, inputs: dict[str, Any]
    ) -> None:
        self.model = model
        self.eos_ids = eos_ids
        self.may_leave = True
        self.prompts = input_ids
        self.length = input_ids.shape[1]
        self.all_ids = input_ids.new_zeros((len(input_ids), max_length))
        self.all_ids[:, : self.length] = input_ids
        self.rows = torch.arange(len(input_ids), device=input_ids.device)  # of those still in the batch
        self.ended = torch.zeros_like(self.rows, dtype=torch.bool)
        self.mask: Tensor | None = None
        if inputs.get("attention_mask") is not None:
            self.mask = input_ids.new_ones(self.all_ids.shape)
            self.mask[:, : self.length] = inputs["attention_mask"]
        self.prompt_positions = inputs["position_ids"].expand(len(input_ids), -1)
        self.positions = self.prompt_positions[:, -1:]
        self.cache = make_roomy(inputs["past_key_values"])
        self.further = {"logits_to_keep": 1} if "logits_to_keep" in inputs else {}

    def prefill(self) -> Tensor:
        """Computes each distinct prompt once; logits of the first new token, (B, V)."""
        sides = [self.prompts] if self.mask is None else [self.prompts, self.mask]
        back, distinct = distinct_rows(torch.cat(sides, dim=1))
        logits = self._forward(self.prompts[distinct], self.prompt_positions[distinct], distinct)
        for layer in self.cache.layers:
            layer.spread(back, min(self.all_ids.shape[1] - self.length, ROOM))
        return logits[back]

    def step(self) -> Tensor:
        """Logits after the last token of the rows in the batch, (rows, V)."""
        self.positions = self.positions + 1
        return self._forward(self.all_ids[self.rows, self.length - 1][:, None], self.positions, self.rows)

    def _forward(self, ids: Tensor, positions: Tensor, rows: Tensor) -> Tensor:
        mask = None if self.mask is None else self.mask[rows, : self.length]
        outputs = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self.cache,
            use_cache=True,
            return_dict=True,
            **self.further,
        )
        return outputs.logits[:, -1].float()

    def history(self) -> Tensor:
        """All tokens so far of the rows in the batch."""
        return self.all_ids[self.rows, : self.length]

    def add(self, tokens_B: Tensor, pad_id: Tensor | None) -> bool:
        """Takes the new tokens; returns whether nothing is left to write. Rows that have ended get padding."""
        if self.eos_ids is not None:
            if pad_id is not None:
                tokens_B = torch.where(self.ended, pad_id.to(tokens_B), tokens_B)
            self.ended |= torch.isin(tokens_B, self.eos_ids)
        self.all_ids[self.rows, self.length] = tokens_B
        self.length += 1
        if self.length == self.all_ids.shape[1]:
            return True
        if self.eos_ids is None or (tokens_B.device.type != "cpu" and self.length % CHECK_EVERY):
            return False
        count = int(self.ended.sum())
        if count == len(self.rows):
            return True
        if self.may_leave and count * LEAVE_SHARE >= len(self.rows):
            self._leave(len(self.rows) - count)
        return False

    def _leave(self, count: int) -> None:
        """The rows that have ended leave; of the `count` others those at the end move into their places."""
        targets = self.ended[:count].nonzero()[:, 0]
        sources = (~self.ended[count:]).nonzero()[:, 0] + count
        for state in (self.rows, self.positions):
            state[targets] = state[sources]
        self.rows, self.positions = self.rows[:count], self.positions[:count]
        self.ended = torch.zeros_like(self.ended[:count])
        for layer in self.cache.layers:
            layer.move(sources, targets, count)

    def sequences(self) -> Tensor:
        """Prompts and completions, (B, T)."""
        return self.all_ids[:, : self.length]


def distinct_rows(rows_B_T: Tensor) -> tuple[Tensor, Tensor]:
    """(place_B, first_P): which distinct row each row is, and where each distinct row comes first."""
    first: dict[bytes, int] = {}
    place = [first.setdefault(row.tobytes(), len(first)) for row in rows_B_T.cpu().numpy()]
    firsts = [place.index(p) for p in range(len(first))]
    return torch.tensor(place, device=rows_B_T.device), torch.tensor(firsts, device=rows_B_T.device)


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A `DynamicLayer` whose keys and values (B, heads, T, head_dim) are the filled part of larger buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: list[Tensor] = []

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Writes new tokens behind those that are there; returns all."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        filled = self.get_seq_length()
        length = filled + key_states.shape[-2]
        if not self.buffers or length > self.buffers[0].shape[-2]:
            old = (self.keys, self.values) if filled else (key_states[:, :, :0], value_states[:, :, :0])
            room = length + max(ROOM, filled // 4) if filled else length
            self.buffers = [self._with_room(side, room) for side in old]
        for buffer, new in zip(self.buffers, (key_states, value_states), strict=True):
            buffer[:, :, filled:length] = new
        self._show(length)
        return self.keys, self.values

    @staticmethod
    def _with_room(side: Tensor, room: int) -> Tensor:
        buffer = side.new_empty((*side.shape[:2], room, side.shape[-1]))
        buffer[:, :, : side.shape[-2]] = side
        return buffer

    def spread(self, rows: Tensor, room: int) -> None:
        """Makes these rows the batch, with room for so many more tokens. A row may come several times."""
        length = self.get_seq_length()
        self.buffers = [
            self._with_room(side[:, :, :length].index_select(0, rows), length + room)
            for side in (self.keys, self.values)
        ]
        self._show(length)

    def move(self, sources: Tensor, targets: Tensor, count: int) -> None:
        """Copies rows onto others, then keeps the first `count`."""
        length = self.get_seq_length()
        for buffer in self.buffers:
            buffer[targets, :, :length] = buffer[sources, :, :length]
        self.buffers = [buffer[:count] for buffer in self.buffers]
        self._show(length)

    def _show(self, length: int) -> None:
        self.keys, self.values = (buffer[:, :, :length] for buffer in self.buffers)


def make_roomy(cache: DynamicCache) -> DynamicCache:
    """An empty cache for as many layers, with room."""
    result = DynamicCache()
    result.layers = [RoomyLayer() for _ in cache.layers]
    return result
