"""Records of a JSONL, JSON, CSV or parquet file, or of a data set of the Hugging Face hub. Errors name the record."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from cooper_rl.errors import BackendError, BadInputError, MissingFileError
from cooper_rl.jsonl import not_utf_8, open_lines, readable, records
from cooper_rl.settings.files import SUFFIXES, local_file, looks_local


def read_table(name: str | Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) pairs of a file, here or in COOPER_DATA_DIR, or of the `train` split of a hub data set.

    Args:
        what: what the records are, for the message.

    Raises:
        MissingFileError: there is no such file, and the name is no hub id `owner/name`.
        BadInputError: a record cannot be read.
        BackendError: the hub cannot be read.
    """
    path = check_table(str(name), what)
    if path:
        yield from read_records(path)
        return
    for number, record in enumerate(from_hub(str(name), None, "train"), 1):
        yield f"{name} row {number}", record


def check_table(name: str, what: str) -> Path | None:
    """The file of this name, here or in COOPER_DATA_DIR; None for a hub id. The hub is not asked.

    Raises:
        MissingFileError: there is no such file, and the name is no hub id.
    """
    path = local_file(name)
    if path is None and not is_hub_id(name):
        raise MissingFileError(f"{name}: no such file of {what}, here or in COOPER_DATA_DIR")
    return path


def is_hub_id(name: str) -> bool:
    """Whether a name is the id `owner/name` of a hub data set rather than a file or an import path."""
    return not looks_local(name) and ":" not in name and not name.endswith(SUFFIXES)


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) pairs of a file; the place is the file with the line, row or record number.

    Raises:
        BadInputError: a record is no object, or the file cannot be read.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    if path.name.endswith((".csv", ".csv.gz")):
        with open_lines(path, newline="") as lines, readable(path):
            yield from _csv(lines, path)
        return
    with open_lines(path) as lines, readable(path):
        if path.name.endswith((".json", ".json.gz")) and _is_array(lines):  # else it is JSONL, as in AQuA's .json
            yield from _array(lines, path)
        else:
            yield from records(lines, str(path))


def _is_array(lines: TextIO) -> bool:
    """Whether the first character that is not blank begins an array. Afterwards the file is at its start again."""
    first = next((line.lstrip()[0] for line in iter(lambda: lines.readline(4096), "") if line.strip()), "")
    lines.seek(0)
    return first == "["


def _array(lines: TextIO, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    text = lines.read()
    try:
        text.encode()
        whole = json.loads(text)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise not_utf_8(f"{path}:{line}", error) from error
    except json.JSONDecodeError as error:
        raise BadInputError(f"{path}:{error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"{path}: not JSON ({error})") from error
    for number, record in enumerate(whole, 1):
        if not isinstance(record, dict):
            raise BadInputError(f"{path} record {number}: not a JSON object; each record must be one")
        yield f"{path} record {number}", record


def _csv(lines: TextIO, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows below the header, as texts; an empty cell is None. A column without a name is left out."""
    rows = csv.reader(lines, strict=True)
    header: list[str] = []
    line = 1
    try:
        for row in rows:
            place, line = f"{path}:{line}", rows.line_num + 1
            _check_utf_8(row, place)
            if not header:
                header = row
                if twice := next((name for name in header if name and header.count(name) > 1), None):
                    raise BadInputError(f"{place}: two columns are named {twice!r}; rename one of them")
            elif row and len(row) != len(header):
                raise BadInputError(
                    f"{place}: {len(row)} cells, where the header has {len(header)}; put texts with commas in quotes"
                )
            elif row:
                yield place, {name: cell or None for name, cell in zip(header, row, strict=True) if name}
    except csv.Error as error:
        raise BadInputError(f"{path}:{line}: not CSV ({error})") from error


def _check_utf_8(row: list[str], place: str) -> None:
    try:
        "".join(row).encode()
    except UnicodeEncodeError as error:
        raise not_utf_8(place, error) from error


def _parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows = (row for batch in pyarrow.parquet.ParquetFile(path).iter_batches() for row in batch.to_pylist())
        for number, record in enumerate(rows, 1):
            yield f"{path} row {number}", record
    except pyarrow.ArrowException as error:
        raise BadInputError(f"{path}: not a parquet file ({str(error).splitlines()[0]})") from error


def from_hub(
    name: str, configuration: str | None, split: str, *, data_files: str | None = None
) -> Iterable[dict[str, Any]]:
    """The records of a hub data set, or of one of its files.

    Raises:
        BackendError: the data set cannot be read.
        BadInputError: it has several configurations, and none is named.
    """
    import datasets

    try:
        loaded: Iterable[dict[str, Any]] = datasets.load_dataset(
            name, configuration, split=split, data_files=data_files
        )
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:  # Runtime: it is a script
        told = " ".join(str(error).split())
        if configuration is None and told.startswith("Config name is missing"):
            raise BadInputError(f"{name}: name one of its configurations, as with dataset_config ({told})") from error
        raise BackendError(f"{name}: the hub cannot be read ({told}); set COOPER_DATA_DIR to local copies") from error
    return loaded
