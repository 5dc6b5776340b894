"""The sentences of a text, and which part of it is still meant after a correction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cooper_rl.verifiers.prose.writing import Written

_END = re.compile(r"[.!?:]?\n+\s*|[.!?]+[\"')\]*]*(?:\s+|\Z)|(?<=[a-z])[.](?=[A-Z])|\s*[;|•]\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Mt|Ft|Jr|Sr|Lt|Gen|Col|Capt|Sgt|Rev|Prof|vs?|No|Vol|ca?|approx|e\.g|i\.e|etc|Inc|Co|Bros)"
    r"|(?:^|[\s.(])[A-Za-z]|(?:^|\n|:)\s*\(?\d{1,2})\.$"
)
_AUXILIARY = r"(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should|may|might)"
_QUESTION = re.compile(
    r"[\s*#>(-]*(?:(?:so|and|but|question|q)\b\W+)?(?:(?:in|on|at|to|for|by|of|from|with) )?"
    rf"(?:(?:who|whom|whose|what|which|how)\b|(?:when|where|why) {_AUXILIARY}\b|(?:who|what|when|where|how)'s\b"
    rf"|{_AUXILIARY} (?:it|he|she|they|this|that|there|the|you)\b)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:no,? wait|oh wait|wait[,.!]|scratch that|correction:|let me correct|i was wrong|i made a mistake|i meant|"
    r"on second thoughts?|sorry,|my mistake|(?:but|or|it is|it's|is|was) actually\b|(?<=[.!?] )actually,"
    r"|but (?:it|that|the answer)(?:'s| is| was) (?-i:(?=[A-Z\d])))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """The tokens of a sentence, from `first` to before `last`, and the offsets of its text.

    What stands before `asked` is a question: all of "Who was it?", and the part before the colon of "Who was it: Ann."
    """

    first: int
    last: int
    start: int
    end: int
    asked: int


def sentences(whole: Written) -> Iterator[Sentence]:
    """The sentences of a text. Lines, and parts between semicolons, bars and bullets, are sentences too."""
    start = token = 0
    ends = [found for found in _END.finditer(whole.text) if not _is_abbreviation(whole.text, found)]
    for stop, mark in [*((found.end(), found.group()) for found in ends), (len(whole.text), "")]:
        first = token
        while token < len(whole.tokens) and whole.tokens[token].start < stop:
            token += 1
        if token > first:
            yield Sentence(first, token, start, stop, start + _asked(whole.text[start:stop], "?" in mark))
        start = stop


def _asked(sentence: str, marked: bool) -> int:
    """How many characters of a sentence are a question."""
    if marked:
        return len(sentence)
    if not _QUESTION.match(sentence):
        return 0
    colon = sentence.find(": ")
    return colon if colon > 0 else len(sentence)


def _is_abbreviation(text: str, found: re.Match[str]) -> bool:
    return found.group().startswith(".") and bool(
        _ABBREVIATION.search(text[max(0, found.start() - 12) : found.start() + 1])
    )


def retracted_until(text: str) -> int:
    """Where the last correction ends ("Paris. No, wait: Rome"); 0 without one. Text before it no longer counts."""
    return max((found.end() for found in _CORRECTION.finditer(text)), default=0)
