"""A user's own problems: a local JSONL, JSON, CSV or parquet file, or any data set of the Hugging Face hub.

Every error names file, record and field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cooper_rl.columns import question_of, reference_of, worked_solution_of
from cooper_rl.domains.domain import StoredDomain
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.records import Problem
from cooper_rl.settings.files import local_file
from cooper_rl.tables import from_hub, read_records


class FileSet(StoredDomain):
    """The problems of a local file. A file has no splits, so every split is the whole file.

    Args:
        reference_column: the column of the reference answers; None takes the usual names.
    """

    def __init__(self, name: str, reference_column: str | None = None) -> None:
        self.name = name
        self.reference_column = reference_column

    def read(self, split: str) -> list[Problem]:
        """All problems of the file.

        Raises:
            MissingFileError: there is no such file.
            BadInputError: a record lacks a question or an answer.
        """
        path = local_file(self.name)
        if path is None:
            raise MissingFileError(f"{self.name}: no such file, here or in COOPER_DATA_DIR")
        records = read_records(path)
        return [to_problem(record, place, path.stem, self.reference_column) for place, record in records]

    def check(self, split: str) -> None:
        """Reads the file, so that its errors are found before a model is loaded."""
        if not self.read(split):
            raise BadInputError(f"{self.name}: the file has no problem with an answer")


class HubSet(StoredDomain):
    """Any data set of the hub whose records have the usual column names.

    Args:
        name: its id `owner/name`.
        configuration: one of its configurations (subsets); None takes its default.
        reference_column: the column of the reference answers; None takes the usual names.
    """

    def __init__(self, name: str, configuration: str | None = None, reference_column: str | None = None) -> None:
        self.name = name
        self.configuration = configuration
        self.reference_column = reference_column

    def read(self, split: str) -> list[Problem]:
        """All problems of a split.

        Raises:
            BackendError: the hub cannot be read.
            BadInputError: a record lacks a question or an answer.
        """
        records = from_hub(self.name, self.configuration, split)
        return [
            to_problem(record, f"{self.name}[{i}]", self.name, self.reference_column)
            for i, record in enumerate(records)
        ]


def local_copy(filename: str) -> Path | None:
    """The copy of a published file in COOPER_DATA_DIR; None if there is none."""
    root = os.environ.get("COOPER_DATA_DIR")
    if not root:
        return None
    candidates = (Path(root) / "problems" / filename, Path(root) / filename)
    return next((path for path in candidates if path.is_file()), None)


def to_problem(record: Mapping[str, Any], place: str, source: str, reference_column: str | None = None) -> Problem:
    """A record as a Problem, read by the usual column names.

    Raises:
        BadInputError: it lacks a question or an answer.
    """
    question = question_of(record, place)
    reference, aliases = reference_of(record, place, reference_column)
    worked = worked_solution_of(record, reference_column)
    own_id = record.get("problem_id")
    return Problem(
        question,
        reference,
        source,
        place if own_id is None else str(own_id),
        {"worked_solution": worked} if worked else {},
        aliases,
    )
