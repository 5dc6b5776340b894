"""Lists: several answers without brackets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.form import Read
from cooper_rl.verifiers.math.group import PART_LABEL, Group, Order
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
        several = "\\pm" in text or len(split_top(text, SEPARATOR)) > 1 or len(PART_LABEL.findall(text)) > 1
        if is_decision(text) or not several:
            return None
        return cls.of_text(text, read)
