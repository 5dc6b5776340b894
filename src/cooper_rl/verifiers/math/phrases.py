"""Patterns that several forms use: names of variables, conditions, separators, running text."""

from __future__ import annotations

import re

from cooper_rl.verifiers.math.markup import CLOSE, OPEN, without_spaces

MAX_LABEL = 5  # up to this many words after a number are a unit or a label; more are a sentence
NAME = r"[A-Za-z](?:[A-Za-z]*)(?:_(?:\{[^{}]*\}|\w))?'?|\\[a-z]+(?:_(?:\{[^{}]*\}|\w))?"  # x, x_1, \theta
SEPARATOR = rf"[,;]| and |{OPEN}[^{CLOSE}]*?\b(?:and|or) ?{CLOSE}|{OPEN} ?,? ?{CLOSE}| or "  # between answers
CONDITION = re.compile(rf" ?{OPEN}? ?\b(?:for (?:all|every|any|each|some)|where|with|when|if|such that|given)\b.*")
COMPARISON_SIGN = re.compile(r"<=|>=|<|>")
_MARKED = re.compile(rf"{OPEN}([^{CLOSE}]*)")
_MARKED_OR_COMMAND = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|\\[A-Za-z]+")
_FUNCTION_NAME = re.compile(r"sqrt|sinh?|cosh?|tanh?|arc\w+|log|ln|exp|min|max")
_LONG_WORD = re.compile(r"[A-Za-z]{4,}|[a-z]{2,} [a-z]{2,}")
_MATHEMATICS = re.compile(r"[\d+*/^=<>!\\-]|^[A-Za-z]$")


def is_name(text: str) -> bool:
    """Whether a text is the name of a variable, or one word."""
    return bool(re.fullmatch(NAME, text))


def is_long_name(text: str) -> bool:
    """Whether a text is a name of more than one letter, such as `north` or `x_1`, and no command such as \\pi."""
    return len(text) > 1 and is_name(text) and text[0] != "\\"


def is_prose(text: str) -> bool:
    """Whether a text is running text, in which a comma does not make a list."""
    return len(re.findall(r"(?<!\\)\b[A-Za-z]{2,}", text)) > 4


def looks_mathematical(text: str) -> bool:
    """Whether a text has digits, operators or commands, and no running text, marked as text or not."""
    if any(len(mark.split()) > MAX_LABEL for mark in _MARKED.findall(text)):
        return False
    outside = _MARKED_OR_COMMAND.sub(" ", text)
    if _LONG_WORD.search(_FUNCTION_NAME.sub(" ", outside)):
        return False
    return bool(_MATHEMATICS.search(text)) or bool(re.fullmatch(r"[A-Za-z]{1,3}", without_spaces(text)))
