"""A number whose neighbours change its value: `at least 5`, `not 5`, `\\neq 5`, `half of 12`, `12 squared`."""

from __future__ import annotations

import re

_BEFORE = re.compile(
    r"(?:(?:^|[\s$(]|(?<!_)\{)(?:<|>|<=|>=|≤|≥|≠|!=)"
    r"|\\(?:neq?|not\s*=|geq?|leq?|gt|lt|geqslant|leqslant)(?![a-z])"
    r"|\b(?:not|except|twice|double|triple|half of|root of|at least|at most"
    r"|(?:less|greater|more|fewer|larger|smaller|higher|lower) than)\b)"
    r"[\s{}$(\\]*(?:d?frac\{)?[-+]?\d[\d.,/]*(?!.*\d)",
    re.DOTALL | re.IGNORECASE,
)
_AFTER = re.compile(
    r"\d[\s{}$)\\]*(?:text\{\s*)?(?:squared|cubed|factorial|is (?:wrong|incorrect|false|not (?:right|correct)))\b",
    re.IGNORECASE,
)
NEAR_THE_END = 80  # characters of a running text that are looked at


def is_qualified(text: str) -> bool:
    """Whether the last number of a text is not what the text says, because of the words or signs beside it."""
    end = text[-NEAR_THE_END:]
    return bool(_BEFORE.search(end) or _AFTER.search(end))
