"""Where a completion states its answer: boxes, "####", "the answer is". Text only; nothing is evaluated."""

from __future__ import annotations

import re
from fractions import Fraction

_CUE = re.compile(r"(?:answer is|answer:|####)[ \t]*", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?(?:/\d{1,30})?")
_WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|"
    r"sixty|seventy|eighty|ninety|hundred|thousand|half|third|quarter|yes|no|true|false|none|infinity|infinite|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"[\d∞πφ]|\\(?:boxed|frac|sqrt|pi|infty|text)|\b[A-J]\b|[a-z]\s*=", re.IGNORECASE)
_HEDGE = re.compile(
    r"(?:answer is|answer:|####)[^.\n]*?(-?[\d.,/]*\d)\s*(?:,\s*)?(?:or|and maybe|or maybe)\s+(-?[\d.,/]*\d)"
)
_MAYBE = re.compile(
    r"\b(?:it )?could be\s+\$?(-?[\d.,/]*\d)[^.\n]*?\b(?:or|maybe|perhaps)\s+\$?(-?[\d.,/]*\d)", re.IGNORECASE
)


def boxed(text: str) -> list[str]:
    """The contents of every `\\boxed{...}` with balanced braces, in order."""
    found = []
    for match in re.finditer(r"\\boxed\s*\{", text):
        depth, start = 1, match.end()
        for index in range(start, min(len(text), start + 2000)):
            depth += (text[index] == "{") - (text[index] == "}")
            if depth == 0:
                found.append(text[start:index].strip())
                break
    return found


def plain_number(text: str) -> Fraction | None:
    """An integer, decimal, simple fraction or number with thousands separators as an exact value; else None."""
    text = text.strip().strip("$").rstrip(".").strip()
    if not _NUMBER.fullmatch(text):
        return None
    numerator, _, denominator = text.replace(",", "").partition("/")
    if denominator and (int(denominator) == 0 or "." in numerator):
        return None
    return Fraction(numerator) / int(denominator or 1)


def stated_number(completion: str) -> Fraction | None:
    """The number of an unmistakable closing statement (one box, or a cue with a plain number at the very end)."""
    boxes = boxed(completion)
    if len(boxes) == 1:
        return plain_number(boxes[0])
    if boxes:
        return None
    cues = list(_CUE.finditer(completion))
    return plain_number(completion[cues[-1].end() :]) if cues else None


def hedged(completion: str) -> bool:
    """Whether the completion offers several answers that differ as text or number."""
    boxes = boxed(completion)
    if len({plain_number(box) if plain_number(box) is not None else box for box in boxes}) > 1:
        return True
    pairs = [m.groups() for pattern in (_HEDGE, _MAYBE) for m in pattern.finditer(completion)]
    return any(plain_number(a) != plain_number(b) for a, b in pairs)


def has_answer(completion: str) -> bool:
    """Whether anything in the text could be an answer in some form; False for empty text and garbage."""
    return bool(_SYMBOL.search(completion) or _WORDS.search(completion))


def unclear(reference: str, completion: str) -> bool:
    """Whether the completion names the reference's number outside any box or cue, so that taking another of its
    numbers for the answer may be the verifier's mistake ("That makes 12. I am 90% sure.")."""
    gold = plain_number(reference)
    if gold is None or boxed(completion) or _CUE.search(completion):
        return False
    return any(plain_number(found.group()) == gold for found in _NUMBER.finditer(completion))
