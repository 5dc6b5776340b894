"""Points and tuples in round or square brackets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from cooper_rl.verifiers.math.form import Read
from cooper_rl.verifiers.math.group import MAX_ITEMS, Group, Order
from cooper_rl.verifiers.math.markup import bracketed_parts


@dataclass(frozen=True, slots=True)
class AnswerTuple(Group):
    """`(1, 2)`: several answers whose order counts."""

    order: ClassVar[Order] = Order.KEPT

    @classmethod
    def parse(cls, text: str, read: Read) -> Self | None:
        """Reads two or more parts in brackets. `[1, 2)` and `(1, \\infty)` have been read as intervals before."""
        parts = bracketed_parts(text)
        return cls.of_parts(parts, read) if len(parts) > 1 else None

    @classmethod
    def of_parts(cls, parts: Sequence[str], read: Read) -> Self | None:
        """The parts in their order; None if one of them has no form."""
        items = [read(part) for part in parts[: MAX_ITEMS + 1]]
        if len(items) > MAX_ITEMS or any(item is None for item in items):
            return None
        return cls(tuple(item for item in items if item is not None))
