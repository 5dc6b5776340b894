"""Reads and writes JSON lines: errors name file and line, and files that a kill cut off can be continued."""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO, TypeVar, cast

from cooper_rl.errors import BadInputError, MissingFileError

Item = TypeVar("Item")
REFERENCE_FIELDS = ("reference", "reference_answer", "answer")
COMPLETION_FIELDS = ("completion", "response")
LABEL_FIELDS = ("correct", "label")
LABEL_TEXTS = {"true": True, "1": True, "false": False, "0": False}  # as CSV has them


def open_lines(path: Path, newline: str | None = None) -> TextIO:
    """Opens a text file for reading, gzip-compressed or not, with or without a byte-order mark.

    Bytes that are not UTF-8 are kept as lone surrogates, so `not_utf_8` can tell where they stand.

    Args:
        newline: as of `open`; "" keeps the line ends.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    return cast(TextIO, opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=newline))


@contextmanager
def open_input(file: Path | None) -> Iterator[tuple[IO[str], str]]:
    """The lines of a file, or of stdin without one or with `-`, with the name that error messages use.

    Raises:
        MissingFileError: there is no such file.
    """
    if file is None or file == Path("-"):
        yield sys.stdin, "<stdin>"
        return
    if not file.is_file():
        raise MissingFileError(f"{file}: {'a folder, not a file' if file.is_dir() else 'no such file'}")
    with open_lines(file) as lines:
        yield lines, str(file)


def not_utf_8(place: str, error: UnicodeEncodeError) -> BadInputError:
    """That a text has bytes that are not UTF-8, or half of a character, in one line."""
    byte = ord(error.object[error.start]) - 0xDC00
    what = f"byte 0x{byte:02x}" if 0x80 <= byte <= 0xFF else "half of a character"
    return BadInputError(f"{place}: not a text in UTF-8 ({what}); store the file as UTF-8")


def records(lines: Iterable[str], source: str, first: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of each line that is not blank. The place is `source:line`.

    Args:
        first: the number of the first line.

    Raises:
        BadInputError: a line is not a JSON object.
    """
    with readable(source):
        for number, line in enumerate(lines, first):
            if line.strip():
                place = f"{source}:{number}"
                yield place, _object(line, place)


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of `size`, the last of them shorter. A bad record loses none of those before it.

    Raises:
        BadInputError: an item could not be read; the list of those before it comes first.
    """
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
    except BadInputError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        line.encode()  # what is not UTF-8 could not be written again
        record = json.loads(line)
        if "\\u" in line:
            json.dumps(record, ensure_ascii=False).encode()  # neither could an escaped one
    except UnicodeEncodeError as error:
        raise not_utf_8(place, error) from error
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise BadInputError(f"{place}: not JSON ({reason}); each line must be one object") from error
    if not isinstance(record, dict):
        raise BadInputError(f"{place}: not an object; each line must be one JSON object")
    return record


@contextmanager
def readable(source: str | Path) -> Iterator[None]:
    """Turns the errors of reading a compressed file into one line.

    Raises:
        BadInputError: the gzip file is damaged.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInputError(f"{source}: not a whole gzip file ({error})") from error


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
    if not has_label(record):
        raise BadInputError(f"{place}: field 'correct' is missing; the record has {', '.join(sorted(record))}")
    label = next(record[name] for name in LABEL_FIELDS if name in record)
    if isinstance(label, str):
        label = LABEL_TEXTS.get(label.strip().lower(), label)
    if label not in (True, False, 0, 1):
        raise BadInputError(f"{place}: field 'correct' must be true or false, not {label!r}")
    return bool(label)


def line_of(record: dict[str, Any]) -> str:
    """A record as a line of JSON. What JSON has no form for, such as a date of a parquet file, is written as text."""
    return json.dumps(record, ensure_ascii=False, default=str) + "\n"


def finite(value: Any) -> Any:
    """The value with None for NaN and infinities, which JSON cannot write; also inside of lists and dictionaries."""
    if isinstance(value, dict):
        return {key: finite(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [finite(own) for own in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_written(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
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
    """The complete records of a file that is still written to, or whose last line a kill cut off.

    Empty if there is no file.

    Raises:
        BadInputError: a complete line is not a JSON object.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # behind the last line end there is nothing, or a part
    return [record for _, record in records(lines, str(path))]


def write_atomically(path: Path, text: str) -> None:
    """Replaces the file's content at once: after a kill it holds the old text or the new text, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
