"""What users' records and rows hold: the question, the reference answer with its aliases, and the worked solution.

Every source of records is read here: files, hub data sets, rows of verl and rows of a trainer. Values become texts:
numbers are written out, arrays become lists, and tensors are refused. No array library is imported: their values are
known by their attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from cooper_rl.columns.turns import assistant_text, user_text
from cooper_rl.errors import BadInputError

__all__ = [
    "GROUND_TRUTH",
    "after_marker",
    "aliases_of",
    "assistant_text",
    "decimal_of",
    "question_of",
    "question_text",
    "reference_of",
    "user_text",
    "without_annotations",
    "worked_solution_of",
]
PROMPT = "prompt"
QUESTIONS = ("question", "problem", PROMPT, "Question", "Body", "extra_info.question")
GROUND_TRUTH = "reward_model.ground_truth"  # verl's place of the reference answer
NAMED = ("reference_answer", "reference", "final_answer", "Answer")  # can mean nothing else: the first there is taken
USUAL = ("answer", "solution", "ground_truth", "gold", GROUND_TRUTH)  # taken where it is the only one there
ALIASES = ("aliases", "extra_info.aliases")
WORKED = ("worked_solution", "extra_info.worked_solution")
MARKER = "####"  # GSM8K writes the answer behind it, in the last line of a worked solution
OF_TENSORS = ("torch", "jax", "jaxlib", "tensorflow")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ANNOTATION = re.compile(r"<<.*?>>")


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


def reference_of(record: Mapping[str, Any], place: str, column: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The reference answer of a record, and further answers that are as right.

    A list holds several answers that are all right: the first is the reference answer. The record's `aliases` are
    further ones. Of a worked solution of GSM8K's form the answer behind `####` is taken.

    Args:
        place: where the record is, for the messages.
        column: the column of the reference answer; a dotted name goes into a nested dict. None takes the usual names.

    Raises:
        BadInputError: there is no such column, or two may be meant; or the value is no text, number or list of these.
    """
    name = column or _only(record, place)
    value = value_at(record, name)
    if value is None:
        raise BadInputError(f"{place}: no {name}, where the reference answer should be; it has {_columns(record)}")
    found = texts_of(value, place, name)
    if not found:
        raise BadInputError(f"{place}: column {name!r} is an empty list; leave the record out or fill it in")
    first, *others = dict.fromkeys([*found, *aliases_of(record, place)])
    return first, tuple(others)


def aliases_of(record: Mapping[str, Any], place: str) -> list[str]:
    """The answers that a record names as right beside its reference answer.

    Raises:
        BadInputError: they are no texts or numbers.
    """
    name = next((name for name in ALIASES if value_at(record, name) is not None), None)
    return texts_of(value_at(record, name), place, name) if name else []


def worked_solution_of(record: Mapping[str, Any], column: str | None = None) -> str:
    """The worked solution of a record; "" if it has none.

    Args:
        column: the column of the reference answer, as of `reference_of`; it may hold a whole solution, as in GSM8K.
    """
    own = (value_at(record, name) for name in WORKED)
    if found := next((text for text in own if isinstance(text, str) and text.strip()), None):
        return found
    names = [column] if column else _there(record)
    value = value_at(record, names[0]) if len(names) == 1 else None
    return without_annotations(value) if isinstance(value, str) and is_marked(value) else ""


def _there(record: Mapping[str, Any]) -> list[str]:
    """The columns that may hold the reference answer: the first whose name is plain, or all of the others."""
    named = [name for name in NAMED if value_at(record, name) is not None][:1]
    return named or [name for name in USUAL if value_at(record, name) is not None]


def _only(record: Mapping[str, Any], place: str) -> str:
    names = _there(record)
    if not names:
        raise BadInputError(
            f"{place}: the record needs one of {', '.join((*NAMED, *USUAL))}, or reference_column set to another name;"
            f" it has {_columns(record)}"
        )
    if len(names) > 1:
        raise BadInputError(
            f"{place}: {' and '.join(names)} may both be the reference answer; set reference_column to one of them"
        )
    return names[0]


def _columns(record: Mapping[str, Any]) -> str:
    named = (f"{name} (null)" if value is None else str(name) for name, value in record.items())
    return ", ".join(sorted(named)) or "none"


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """The value of a column; None where there is none. A dotted name goes into a nested dict."""
    if name in record:
        return record[name]
    if "." not in name:
        return None
    top, _, rest = name.partition(".")
    inner = record.get(top)
    return value_at(inner, rest) if inner is not None and isinstance(inner, Mapping) else None


def plain(value: Any, place: str, name: str) -> Any:
    """A value without its array: a list of an array's items, any other value as it is.

    Raises:
        BadInputError: it is a tensor.
    """
    if hasattr(value, "detach") or type(value).__module__.partition(".")[0] in OF_TENSORS:
        raise BadInputError(
            f"{place}: column {name!r} holds a tensor; call dataset.reset_format(), so that it holds texts or numbers"
        )
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return list(value) if value.ndim else value[()]
    return value


def texts_of(value: Any, place: str, name: str) -> list[str]:
    """The texts of a value: one of a text or a number, several of a list.

    Raises:
        BadInputError: it is something else, or a text is blank.
    """
    value = plain(value, place, name)
    items = value if isinstance(value, list | tuple) else [value]
    return [_text_of(plain(item, place, name), place, name) for item in items]


def _text_of(value: Any, place: str, name: str) -> str:
    if isinstance(value, str):
        text: str | None = after_marker(value) if is_marked(value) else str(value)
    else:
        text = number_text(value, place, name)
    if text is None:
        what = "null" if value is None else f"a {type(value).__name__}"
        raise BadInputError(
            f"{place}: column {name!r} holds {what}; a reference answer is a text, a number or a list of these"
        )
    if not text.strip():
        raise BadInputError(f"{place}: column {name!r} is blank; leave the record out or fill it in")
    return text


def number_text(value: Any, place: str, name: str) -> str | None:
    """A number or a truth value, written out; None for anything else.

    Raises:
        BadInputError: it is nan or infinite.
    """
    if hasattr(value, "dtype"):  # a float of few bits has more decimals as Python's float than it is written with
        value = float(str(value)) if value.dtype.kind == "f" else value.item()
    if isinstance(value, float | Decimal):
        if not math.isfinite(value):
            raise BadInputError(
                f"{place}: column {name!r} is {value}, which is no number; leave the record out or correct it"
            )
        return decimal_of(value)
    return str(value) if isinstance(value, int) else None


def decimal_of(value: float | Decimal) -> str:
    """A finite number as people write it: `2` for 2.0, and no exponent."""
    exact = Decimal(repr(float(value))) if isinstance(value, float) else value
    return str(int(exact)) if exact == exact.to_integral_value() else f"{exact:f}".rstrip("0")


def is_marked(text: str) -> bool:
    """Whether a text is a worked solution of GSM8K's form, whose last line holds the answer."""
    return text.rstrip().rpartition("\n")[2].lstrip().startswith(MARKER)


def after_marker(text: str) -> str:
    """The answer of a worked solution of GSM8K's form, without the commas of thousands."""
    return _THOUSANDS.sub("", text.rpartition(MARKER)[2].strip())


def without_annotations(text: str) -> str:
    """A worked solution of GSM8K's form without its calculator annotations."""
    return _ANNOTATION.sub("", text).strip()
