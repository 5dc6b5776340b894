"""VerifyRM's only input format. Scoring and training both use it, so that both see the same text.

<question>Q</question>
<reference_answer>A</reference_answer>
<completion>C</completion>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cooper_rl.records import Scorable

TEMPLATE_VERSION = 1
# A tag inside a field could imitate the structure, so `</completion>` in model text becomes `< /completion>`.
_TAG = re.compile(r"<(?=/?(?:question|reference_answer|completion)>)")


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
    texts, heads = [], []
    for record in records:
        reference = record.reference_answer if with_reference else None
        texts.append(render(record.question, reference, record.completion))
        heads.append(render_prefix(record.question, reference))
    ids_B_T: list[list[int]] = tokenizer(texts, split_special_tokens=True)["input_ids"] if texts else []
    for index, ids_T in enumerate(ids_B_T):
        if len(ids_T) > max_tokens:
            head_T = tokenizer(heads[index], split_special_tokens=True)["input_ids"]
            kept = max(max_tokens - len(head_T), min(len(ids_T) - len(head_T), max_tokens - max_tokens // 2))
            ids_B_T[index] = [*head_T[len(head_T) - (max_tokens - kept) :], *ids_T[len(ids_T) - kept :]]
    return ids_B_T
