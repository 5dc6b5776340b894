"""The question of a record: a text of its own, or what the user says in its prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cooper_rl.columns.turns import user_text
from cooper_rl.columns.values import number_text, plain, value_at
from cooper_rl.errors import BadInputError

PROMPT = "prompt"
QUESTIONS = ("question", "problem", PROMPT, "Question", "Body", "extra_info.question")


def question_of(record: Mapping[str, Any], place: str) -> str:
    """The question of a record, from the first of `QUESTIONS` that is not blank.

    SVAMP's `Body` and `Question` are joined. Messages, and a prompt that a chat template has written, become what the
    user says in them.

    Raises:
        BadInputError: there is none, or it is neither a text nor a number nor messages.
    """
    for name in QUESTIONS:
        text = question_text(value_at(record, name), place, name)
        if text.strip():
            body = record.get("Body")
            joined = isinstance(body, str) and text == record.get("Question")
            return f"{str(body).strip()} {text.strip()}".strip() if joined else text
    there = [name for name in QUESTIONS if value_at(record, name) is not None]
    if there:
        raise BadInputError(f"{place}: the question is blank ({', '.join(there)}); leave the record out or fill it in")
    columns = ", ".join(sorted(map(str, record))) or "none"
    raise BadInputError(f"{place}: the record needs one of {', '.join(QUESTIONS)}; it has {columns}")


def question_text(value: Any, place: str, name: str) -> str:
    """The question in one column: a text, a number written out, or what the user says in messages; "" for a gap.

    Raises:
        BadInputError: it is something else.
    """
    value = plain(value, place, name)
    if value is None or (isinstance(value, float) and math.isnan(value)):  # a gap in a table
        return ""
    if isinstance(value, str) and name != PROMPT:
        return str(value)
    if isinstance(value, str | list | tuple):
        try:
            return user_text(value)
        except BadInputError as error:
            raise BadInputError(f"{place}: question must be text or messages; column {name!r}: {error}") from error
    text = number_text(value, place, name)
    if text is None:
        raise BadInputError(
            f"{place}: question must be text or messages; column {name!r} holds a {type(value).__name__}"
        )
    return text
