"""The reference answer of a record, the further answers that count as right, and the worked solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cooper_rl.columns.values import is_marked, texts_of, value_at, without_annotations
from cooper_rl.errors import BadInputError

GROUND_TRUTH = "reward_model.ground_truth"  # verl's place of the reference answer
NAMED = ("reference_answer", "reference", "final_answer", "Answer")  # can mean nothing else: the first there is taken
USUAL = ("answer", "solution", "ground_truth", "gold", GROUND_TRUTH)  # taken where it is the only one there
ALIASES = ("aliases", "extra_info.aliases")
WORKED = ("worked_solution", "extra_info.worked_solution")


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
