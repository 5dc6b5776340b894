"""Lists: several answers without brackets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.form import Read
from cooper_rl.verifiers.math.group import Group, Order
from cooper_rl.verifiers.math.markup import split_top
from cooper_rl.verifiers.math.phrases import SEPARATOR
from cooper_rl.verifiers.math.words import is_decision


@dataclass(frozen=True, slots=True)
class AnswerList(Group):
    """`1, 2`, `x = 1 or x = 2`, `1 \\pm 2`, `Paolo: 18, Qing: 14`. The order does not count, unless all are words."""

    order: ClassVar[Order] = Order.OPEN

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerList | None:
        """Reads two or more answers without brackets. "No, it is not" counts as one answer."""
        if is_decision(text) or ("\\pm" not in text and len(split_top(text, SEPARATOR)) < 2):
            return None
        return cls.of_text(text, read)
