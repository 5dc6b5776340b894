"""The sentences of a text, and which part of it is still meant after a correction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cooper_rl.verifiers.prose.writing import Written

_END = re.compile(r"[.!?:]?\n+\s*|[.!?]+[\"')\]*]*(?:\s+|\Z)|(?<=[a-z])[.](?=[A-Z])|\s*[;|•]\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Mt|Ft|Jr|Sr|Lt|Gen|Col|Capt|Sgt|Rev|Prof|vs?|No|Vol|ca?|approx|e\.g|i\.e|etc|Inc|Co|Bros)"
    r"|(?:^|[\s.(])[A-Za-z])\.$"
)
_QUESTION = re.compile(
    r"\W*(?:(?:so|and|but|question|q)\b\W+)?(?:(?:in|on|at|to|for|by|of|from|with) )?"
    r"(?:who|whom|whose|what|which|when|where|why|how)(?:'s|\b)(?! (?:i|you|we|they|he|she|it|the)\b[^?]*,)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:no,? wait|oh wait|wait[,.!]|scratch that|correction:|let me correct|i was wrong|i made a mistake|i meant|"
    r"on second thoughts?|sorry,|my mistake|(?:but|or|it is|it's|is|was) actually\b|(?<=[.!?] )actually,)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of a sentence, from `first` to before `last`, and its text."""

    first: int
    last: int
    text: str
    asks: bool = False


def sentences(whole: Written) -> Iterator[Sentence]:
    """The sentences of a text. Lines, and parts between semicolons, bars and bullets, are sentences too."""
    start = token = 0
    ends = [found for found in _END.finditer(whole.text) if not _is_abbreviation(whole.text, found)]
    for stop, mark in [*((found.end(), found.group()) for found in ends), (len(whole.text), "")]:
        first = token
        while token < len(whole.tokens) and whole.tokens[token].start < stop:
            token += 1
        if token > first:
            text = whole.text[start:stop]
            yield Sentence(first, token, text, "?" in mark or bool(_QUESTION.match(text)))
        start = stop


def _is_abbreviation(text: str, found: re.Match[str]) -> bool:
    return found.group().startswith(".") and bool(_ABBREVIATION.search(text[max(0, found.start() - 12) : found.start() + 1]))


def retracted_until(text: str) -> int:
    """The offset up to which a text takes back what it has said ("Paris. No, wait: Rome"); 0 if it takes nothing back."""
    last = None
    for last in _CORRECTION.finditer(text):
        pass
    return last.end() if last else 0
