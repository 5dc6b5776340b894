"""Sets in braces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.verifiers.math.form import Read
from cooper_rl.verifiers.math.group import Group, Order
from cooper_rl.verifiers.math.markup import balanced

SET_BUILDER = re.compile(r"\\\{ ?[A-Za-z](?: ?\\in ?\\?[a-zA-Z{}]+)? ?[|:] ?(?P<condition>.+)\\\}")
_BRACES = (("\\{", "\\}"), ("{", "}"))


@dataclass(frozen=True, slots=True)
class AnswerSet(Group):
    """`\\{1, 2\\}`: several answers in any order."""

    order: ClassVar[Order] = Order.NONE

    @classmethod
    def parse(cls, text: str, read: Read) -> AnswerSet | None:
        """Reads a set that lists its items. `\\{x | x < 5\\}` is left to `wrapped.SetBuilder`."""
        if SET_BUILDER.fullmatch(text):
            return None
        for opening, closing in _BRACES:
            body = text.removeprefix(opening).removesuffix(closing)
            if len(body) == len(text) - len(opening) - len(closing) and balanced(body):
                return cls.of_text(body, read)
        return None
