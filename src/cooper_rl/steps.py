"""Where the steps of a worked solution end, its lines or its sentences: as offsets of characters, and in tokens."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

_LINE = re.compile(r"[^\n]*\S[^\n]*")
# A sentence ends at a mark with space behind it, or with its line. A decimal point and "1." before a step are no ends.
_SENTENCE = re.compile(r"\S.*?(?:(?<!^\d)(?<!^\d\d)[.!?][\"')\]*$]*(?=\s)|$)", re.MULTILINE)
KINDS = {"line": _LINE, "sentence": _SENTENCE}
NEIGHBOURS = 8  # tokens that are decoded together where one alone tells nothing: a character has at most four


def step_ends(text: str, kind: str) -> list[int]:
    """Offsets just after each step; the last is the length of the text. Text without any character has no step.

    Blank lines are no steps, so that empty steps cannot be written.

    Args:
        kind: `line` or `sentence`.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"steps are lines or sentences: give line or sentence, not {kind!r}")
    ends = [found.end() for found in KINDS[kind].finditer(text)]
    return [*ends[:-1], len(text)] if ends else []


def steps_of(text: str, kind: str) -> list[str]:
    """The steps themselves, each with the space before it; together they are the text."""
    return [text[start:end] for start, end in pairwise([0, *step_ends(text, kind)])]


def first_below(values_S: Iterable[float], threshold: float) -> int:
    """The index of the first value below the threshold, or -1."""
    return next((step for step, value in enumerate(values_S) if value < threshold), -1)


def tokens_before(tokenizer: Any, ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """For each offset, how many tokens decode to at least so many characters; all where fewer do not.

    One running decode: what each token adds to the text. A token that completes no character is looked at together with
    its neighbours. A tokenizer whose decoding depends on more than that is asked for each beginning of the text.

    Args:
        ids: token ids of a completion.
        ends: offsets of characters in the text that they decode to.
    """
    lengths = _running_lengths(tokenizer, ids) if len(ends) else []
    if lengths is None:
        return [
            bisect_left(range(len(ids)), end, key=lambda count: len(_decode(tokenizer, ids[:count]))) for end in ends
        ]
    return [bisect_left(lengths, end, hi=len(ids)) for end in ends]


def _running_lengths(tokenizer: Any, ids: Sequence[int]) -> list[int] | None:
    """The lengths of the texts of the first 0 to T tokens; None where they do not add up to that of the whole."""
    from tokenizers.decoders import DecodeStream

    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        return None
    stream, lengths, whole = DecodeStream(skip_special_tokens=True), [0], 0
    for count, token in enumerate(ids, 1):
        piece = stream.step(fast, int(token))
        if piece is not None:
            lengths.append(lengths[whole] + len(piece))
            whole = count
            continue
        begun = max(0, count - NEIGHBOURS)  # part of a character, or a token that is left out
        before, present = (_decode(tokenizer, ids[begun:end]) for end in (count - 1, count))
        lengths.append(lengths[-1] + len(present) - len(before))
    return lengths if lengths[-1] == len(_decode(tokenizer, ids)) else None


def _decode(tokenizer: Any, ids: Sequence[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=True))
