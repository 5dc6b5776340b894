"""JSON lines: read with the place to complain by, and files that are written on after a kill."""

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
    """A file of lines to read, compressed or not."""
    if path.suffix == ".gz":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def records(lines: Iterable[str], source: str, first: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of each line that is not blank.

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
    """The first of the named fields that is there, as text.

    Raises:
        BadInputError: none is there, or it is not text.
    """
    for name in names:
        if name in record:
            if not isinstance(record[name], str):
                raise BadInputError(f"{place}: field {name!r} must be text, not {type(record[name]).__name__}")
            return str(record[name])
    raise BadInputError(f"{place}: field {names[0]!r} is missing; the record has {', '.join(sorted(record)) or 'none'}")


def has_label(record: dict[str, Any]) -> bool:
    """Whether somebody labelled this record."""
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
    """A record as a line."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def written_before(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of a file that is to be gone on with; a half-written last line is cut off at the end.

    Raises:
        BadInputError: a whole line is not a JSON object.
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
    """The records of a file that may still be written to, or that a kill cut off; none where there is no file."""
    found = []
    for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def write_atomically(path: Path, text: str) -> None:
    """The whole text, or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
