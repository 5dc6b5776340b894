"""A number whose neighbours change its value: `at least 5`, `not 5`, `\\neq 5`, `half of 12`, `12 squared`."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.account import is_changed
from cooper_rl.verifiers.math.number import Number, number

_NUMBER = re.compile(r"[-+]?\d(?:[\d.,/]*\d)?")
_SIGN = re.compile(
    r"(?:(?:^|[\s$(]|(?<!_)\{)(?P<sign><=|>=|<|>|≤|≥|≠|!=)"
    r"|\\(?:neq?|not\s*=|geq?|leq?|gt|lt|geqslant|leqslant)(?![a-z]))[\s{}$(\\]*\Z"
)
NEAR_THE_END = 80  # characters of a running text that are looked at


def qualifier(text: str, value: Number | None = None, completion: str = "") -> str:
    """The words or signs beside the last number of a text that make it say another value; "" if there are none.

    Args:
        value: only a number that equals this one counts; None takes any.
        completion: where the text is from. There `>` may be the mark of a quotation, or the end of an arrow.
    """
    end = text[-NEAR_THE_END:]
    numbers = list(_NUMBER.finditer(end))
    if not numbers:
        return ""
    last, before, after = numbers[-1], end[: numbers[-1].start()], end[numbers[-1].end() :]
    own = number(last.group())
    if value is not None and own is not None and own.value != value.value:
        return ""
    sign = _SIGN.search(before)
    mark = sign["sign"] if sign else None
    if mark in ("<", ">") and re.search(rf"(?:^|\n|[=-])\s*{mark}\s*{re.escape(last.group())}", completion):
        return ""
    return sign.group().strip() if sign else is_changed(before, after)
