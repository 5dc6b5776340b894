"""A user's own problems: a local JSONL, JSON, CSV or parquet file, or any data set of the Hugging Face hub.

Every error names file, record and field.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from cooper_rl.columns import question_of, reference_of, value_at, worked_solution_of
from cooper_rl.domains.domain import StoredDomain
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.records import Problem
from cooper_rl.settings.files import local_file
from cooper_rl.tables import from_hub, read_records

logger = logging.getLogger(__name__)
MAPPED_BYTES = 16 * 2**20  # the problems of a file of this size are left on the disk
ROWS_AT_ONCE = 1000


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
        return list(own_problems(read_records(path), path.stem, self.reference_column))

    def open_split(self, split: str) -> Sequence[Problem]:
        """As `read`. Those of a large file are read once, and then mapped from the disk by all processes."""
        path = local_file(self.name)
        if path is not None and path.stat().st_size >= MAPPED_BYTES:
            try:
                return MappedProblems(path, self.reference_column)
            except OSError as error:
                logger.warning(
                    "%s: each process holds its problems, since the cache cannot be written: %s", path, error
                )
        return self.read(split)

    def check(self, split: str) -> None:
        """Reads the file, so that its errors are found before a model is loaded."""
        if not len(self.open_split(split)):
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
        records = enumerate(from_hub(self.name, self.configuration, split))
        placed = ((f"{self.name}[{i}]", record) for i, record in records)
        return list(own_problems(placed, self.name, self.reference_column))


class MappedProblems(Sequence[Problem]):
    """The problems of a file, in an Arrow file of the cache of `datasets` that all processes of a machine share.

    The process that comes first reads and checks the file, while the others wait. A changed file is read anew.

    Attributes:
        data: their fields, a row each, mapped into memory.

    Raises:
        BadInputError: a record lacks a question or an answer.
    """

    def __init__(self, path: Path, reference_column: str | None = None) -> None:
        from datasets import Dataset, Features, List, Value
        from datasets.exceptions import DatasetGenerationError

        texts = dict.fromkeys(("question", "reference_answer", "problem_id", "worked_solution"), Value("string"))
        state, self.source = path.stat(), path.stem
        known = {
            "path": str(path.absolute()),
            "column": reference_column,
            "written": (state.st_size, state.st_mtime_ns),
        }
        try:
            self.data = Dataset.from_generator(
                _rows, features=Features({**texts, "aliases": List(Value("string"))}), gen_kwargs=known
            )
        except DatasetGenerationError as error:
            raise error.__cause__ or error from None

    def __len__(self) -> int:
        return len(self.data)

    @overload
    def __getitem__(self, place: int) -> Problem: ...
    @overload
    def __getitem__(self, place: slice) -> list[Problem]: ...
    def __getitem__(self, place: int | slice) -> Problem | list[Problem]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return self._problem(self.data[place])

    def __iter__(self) -> Iterator[Problem]:
        for batch in self.data.iter(ROWS_AT_ONCE):
            for values in zip(*batch.values(), strict=True):
                yield self._problem(dict(zip(batch, values, strict=True)))

    def _problem(self, row: Mapping[str, Any]) -> Problem:
        metadata = {"worked_solution": row["worked_solution"]} if row["worked_solution"] else {}
        given = row["question"], row["reference_answer"], self.source, row["problem_id"]
        return Problem(*given, metadata, tuple(row["aliases"]))


def _rows(path: str, column: str | None, **_: Any) -> Iterator[dict[str, Any]]:
    for problem in own_problems(read_records(Path(path)), "", column):
        worked = problem.metadata.get("worked_solution", "")
        texts = {name: getattr(problem, name) for name in ("question", "reference_answer", "problem_id")}
        yield {**texts, "worked_solution": worked, "aliases": list(problem.aliases)}


def own_problems(
    records: Iterable[tuple[str, Mapping[str, Any]]], source: str, reference_column: str | None = None
) -> Iterator[Problem]:
    """The records as problems. One that a file of verl's form holds many times, under one `extra_info.index`, is one.

    Args:
        records: each with its place.

    Raises:
        BadInputError: a record lacks a question or an answer.
    """
    seen: set[tuple[Any, ...]] = set()
    repeated = 0
    for place, record in records:
        problem = to_problem(record, place, source, reference_column)
        index = value_at(record, "extra_info.index")
        if index is not None:
            key = (str(index), problem.question, problem.references)
            if key in seen:
                repeated += 1
                continue
            seen.add(key)
        yield problem
    if repeated:
        logger.warning("%s: %d records are there before, with their extra_info.index; left out", source, repeated)


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
