"""A cache of keys and values with room for more tokens, whose batch can grow by copies and shrink in place."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64  # tokens that a layer's buffer grows by


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


def roomy(cache: DynamicCache) -> DynamicCache:
    """An empty cache for as many layers, with room."""
    result = DynamicCache()
    result.layers = [RoomyLayer() for _ in cache.layers]
    return result
