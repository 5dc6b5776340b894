"""VerifyRM's only input format. Scoring and training both use it, so that both see the same text.

<question>Q</question>
<reference_answer>A</reference_answer>
<completion>C</completion>
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from cooper_rl.records import Scorable, Triple, texts

TEMPLATE_VERSION = 1
# A tag inside a field could imitate the structure, so `</completion>` in model text becomes `< /completion>`.
_TAG = re.compile(r"<(?=/?(?:question|reference_answer|completion)>)")

Encoded = Mapping[Triple, Sequence[int]]  # texts with their token ids


def _field(text: str) -> str:
    return _TAG.sub("< ", text)


def render_prefix(question: str, reference_answer: str | None) -> str:
    """The input text before the completion. Without a reference answer, its line is left out."""
    prefix = f"<question>{_field(question)}</question>\n"
    if reference_answer is not None:
        prefix += f"<reference_answer>{_field(reference_answer)}</reference_answer>\n"
    return prefix + "<completion>"


def render(question: str, reference_answer: str | None, completion: str) -> str:
    """The whole input text of one triple."""
    return f"{render_prefix(question, reference_answer)}{_field(completion)}</completion>"


def encode(
    tokenizer: Any, records: Sequence[Scorable], *, max_tokens: int, with_reference: bool = True
) -> list[list[int]]:
    """Token ids of each record. Training and scoring both call this function.

    A text of more than `max_tokens` tokens loses the beginning of its completion. The question, the reference answer,
    the end of the completion (where the answer is) and the closing tag stay. If the question is so long that the
    completion would get less than it needs and less than half of the tokens, the question loses its beginning too.
    Text never becomes a special token.

    Args:
        with_reference: False leaves the reference answer out.
    """
    texts = _texts(records, with_reference)
    ids_B_T: list[list[int]] = tokenizer(texts, split_special_tokens=True)["input_ids"] if texts else []
    for index, ids_T in enumerate(ids_B_T):
        if len(ids_T) > max_tokens:
            head_T = tokenizer(_head(records[index], with_reference), split_special_tokens=True)["input_ids"]
            kept = _count_kept(len(ids_T), len(head_T), max_tokens)
            ids_B_T[index] = [*head_T[len(head_T) - (max_tokens - kept) :], *ids_T[len(ids_T) - kept :]]
    return ids_B_T


def places_of(
    tokenizer: Any,
    records: Sequence[Scorable],
    ends: Sequence[Sequence[int]],
    ids_B_T: Sequence[Sequence[int]],
    *,
    with_reference: bool = True,
) -> list[list[int]]:
    """For each record the tokens that its steps end in: places in `ids_B_T`, which `encode` gave for the records.

    A step's place is the last token that lies within it and those before. The last step's is the closing tag's end,
    where the whole completion is scored. Steps that were cut off have the first place that is left.

    Args:
        ends: offsets of characters in each completion, just after its steps, in their order.
        with_reference: as it was for `encode`.
    """
    texts = _texts(records, with_reference)
    encoded = tokenizer(texts, split_special_tokens=True, return_offsets_mapping=True) if texts else {}
    offsets = encoded.get("offset_mapping", ())
    places_B = []
    for record, ends_S, offsets_T, ids_T in zip(records, ends, offsets, ids_B_T, strict=True):
        start = len(_head(record, with_reference))
        tags = [found.start() for found in _TAG.finditer(record.completion)]  # `_field` has a space more in each
        stops = [stop for _, stop in offsets_T]
        head, lost = bisect_right(stops, start), len(offsets_T) - len(ids_T)
        first = len(ids_T) - _count_kept(len(stops), head, len(ids_T)) if lost else head - 1
        places = []
        for end in ends_S[:-1]:
            character = start + end + sum(tag < end for tag in tags)
            places.append(max(bisect_right(stops, character) - 1 - lost, first))
        places_B.append([*places, len(ids_T) - 1][: len(ends_S)])
    return places_B


def _count_kept(tokens: int, head: int, max_tokens: int) -> int:
    """How many tokens of the text's end are kept where it is too long; `head` are those before the completion."""
    return max(max_tokens - head, min(tokens - head, max_tokens - max_tokens // 2))


def _head(record: Scorable, with_reference: bool) -> str:
    return render_prefix(record.question, record.reference_answer if with_reference else None)


def _texts(records: Sequence[Scorable], with_reference: bool) -> list[str]:
    return [render(r.question, r.reference_answer if with_reference else None, r.completion) for r in records]


def text_of(record: Scorable) -> Triple:
    """The record's own text: what a reward model reads, without further fields."""
    return Triple(record.question, record.reference_answer, record.completion)


def triples_of(questions: Sequence[str], references: Sequence[str], completions: Sequence[str]) -> list[Triple]:
    """Three columns as records.

    Raises:
        ValueError: the columns differ in length, or an item is neither a text nor a number.
    """
    lengths = len(questions), len(references), len(completions)
    if len(set(lengths)) > 1:
        raise ValueError(f"questions, references and completions must have the same length, got {lengths}")
    columns = {"questions": questions, "references": references, "completions": completions}
    return [Triple(*row) for row in zip(*(texts(column, name) for name, column in columns.items()), strict=True)]
