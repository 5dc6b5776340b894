"""A number whose neighbours change its value: `at least 5`, `not 5`, `\\neq 5`, `half of 12`, `12 squared`."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.number import Number, number

_BEFORE = re.compile(
    r"(?:(?:^|[\s$(]|(?<!_)\{)(?P<sign><=|>=|<|>|≤|≥|≠|!=)"
    r"|\\(?:neq?|not\s*=|geq?|leq?|gt|lt|geqslant|leqslant)(?![a-z])"
    r"|\b(?:not|except|twice|double|triple|half of|root of|at least|at most"
    r"|(?:less|greater|more|fewer|larger|smaller|higher|lower) than)\b)"
    r"[\s{}$(\\]*(?:text\{\s*)?(?P<number>(?:d?frac\{)?[-+]?\d[\d.,/]*)(?!.*\d)",
    re.DOTALL | re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?P<number>\d[\d.,/]*)[\s{}$)\\]*(?:text\{\s*)?"
    r"(?:(?:squared|cubed|factorial)(?!\s+[A-Za-z])|is (?:wrong|incorrect|false|not (?:right|correct)))\b(?!.*\d)",
    re.DOTALL | re.IGNORECASE,
)
NEAR_THE_END = 80  # characters of a running text that are looked at


def is_qualified(text: str) -> bool:
    """Whether the last number of a text is not what the text says, because of the words or signs beside it."""
    return bool(qualifier(text))


def qualifier(text: str, value: Number | None = None, completion: str = "") -> str:
    """The words or signs beside the last number of a text that make it say another value; "" if there are none.

    Args:
        value: only a number that equals this one counts; None takes any.
        completion: where the text is from. There `>` may be the mark of a quotation, or the end of an arrow.
    """
    end = text[-NEAR_THE_END:]
    found = _BEFORE.search(end) or _AFTER.search(end)
    if not found:
        return ""
    sign = found.groupdict().get("sign")
    if sign in ("<", ">") and re.search(rf"(?:^|\n|[=-])\s*{sign}\s*{re.escape(found['number'])}", completion):
        return ""
    own = number(found["number"].rstrip(".,/"))
    return found.group() if value is None or own is None or own.value == value.value else ""
