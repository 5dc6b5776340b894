"""Reads and writes JSON lines: errors name file and line, and files that a kill cut off can be continued."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from cooper_rl.errors import BadInputError

REFERENCE_FIELDS = ("reference", "reference_answer", "answer")
LABEL_FIELDS = ("correct", "label")


def open_lines(path: Path) -> TextIO:
    """Opens a text file for reading, gzip-compressed or not."""
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def records(lines: Iterable[str], source: str, first: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of each line that is not blank. The place is `source:line`.

    Args:
        first: the number of the first line.

    Raises:
        BadInputError: a line is not a JSON object.
    """
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        place = f"{source}:{number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadInputError(f"{place}: not JSON ({error.msg}); each line must be one object") from error
        if not isinstance(record, dict):
            raise BadInputError(f"{place}: not an object; each line must be one JSON object")
        yield place, record


def text_field(record: dict[str, Any], names: tuple[str, ...], place: str) -> str:
    """The text of the first of these fields that the record has.

    Raises:
        BadInputError: the record has none of them, or the value is not text.
    """
    for name in names:
        if name in record:
            if not isinstance(record[name], str):
                raise BadInputError(f"{place}: field {name!r} must be text, not {type(record[name]).__name__}")
            return str(record[name])
    raise BadInputError(f"{place}: field {names[0]!r} is missing; the record has {', '.join(sorted(record)) or 'none'}")


def has_label(record: dict[str, Any]) -> bool:
    """Whether the record has a label."""
    return any(name in record for name in LABEL_FIELDS)


def label_of(record: dict[str, Any], place: str) -> bool:
    """Whether a labelled record is right.

    Raises:
        BadInputError: there is no label, or it is not true or false.
    """
    label = next((record[name] for name in LABEL_FIELDS if name in record), None)
    if label not in (True, False, 0, 1):
        raise BadInputError(f"{place}: field 'correct' must be true or false, not {label!r}")
    return bool(label)


def line_of(record: dict[str, Any]) -> str:
    """A record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def written_before(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of a file that is to be continued. A half-written last line is removed from the file.

    Raises:
        BadInputError: a complete line is not a JSON object.
    """
    end = 0
    with path.open("rb+") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            yield from records([line.decode("utf-8", "replace")], str(path), number)
            end += len(line)
        file.truncate(end)


def whole_records(path: Path) -> list[dict[str, Any]]:
    """The complete records of a file that is still written to, or that a kill cut off; empty if there is no file."""
    found = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def write_atomically(path: Path, text: str) -> None:
    """Replaces the file's content at once: after a kill it holds the old text or the new text, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
