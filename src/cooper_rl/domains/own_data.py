"""Problems of a table: a user's own JSONL, JSON, CSV or parquet file, or any data set of the Hugging Face hub.

Every error names file, record and field. The problems of a large table are read by one process and mapped by all.
"""

from __future__ import annotations

import logging
import os
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

from cooper_rl.columns import question_of, reference_of, value_at, worked_solution_of
from cooper_rl.domains.domain import StoredDomain
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.records import Problem
from cooper_rl.settings.files import local_file
from cooper_rl.tables import from_hub, read_records

logger = logging.getLogger(__name__)
MAPPED_BYTES = 16 * 2**20  # the problems of a table of this size are left on the disk
ROWS_AT_ONCE = 1000
ROOT = Path(__file__).parents[1]
READ_BY = ("columns/*.py", "domains/*.py", "jsonl.py", "tables.py")  # code that, once changed, reads a table anew


class Table(NamedTuple):
    """Records that are not read yet.

    Attributes:
        read: gives each record with its place.
        version: what a large table is known by to later processes, until it changes; empty where it is small.
    """

    read: Callable[[], Iterable[tuple[str, Mapping[str, Any]]]]
    version: tuple[str | int, ...] = ()

    @classmethod
    def of_file(cls, path: Path) -> Table:
        """The table of a file. A record's place names the path as given; of a large file, the full path."""
        state, whole = path.stat(), path.absolute()
        if state.st_size < MAPPED_BYTES:
            return cls(lambda: read_records(path))
        return cls(lambda: read_records(whole), (str(whole), state.st_size, state.st_mtime_ns))

    @classmethod
    def of_hub(cls, name: str, records: Iterable[dict[str, Any]]) -> Table:
        """The table of a hub data set, from what `from_hub` gave."""
        from datasets import Dataset

        known: tuple[str | int, ...] = ()
        if isinstance(records, Dataset) and records.data.nbytes >= MAPPED_BYTES:
            known = name, records._fingerprint
        return cls(lambda: ((f"{name}[{index}]", record) for index, record in enumerate(records)), known)


class TableSet(StoredDomain):
    """A domain whose problems are the records of a table.

    Attributes:
        reference_column: the column of the reference answers; None takes the usual names.
    """

    reference_column: str | None = None

    @property
    def source(self) -> str:
        """What its problems have as their source."""
        return self.name

    @abstractmethod
    def table(self, split: str) -> Table:
        """The records of a split.

        Raises:
            MissingFileError: there is no such file.
            BackendError: the hub cannot be read.
        """

    def problems_of(self, records: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Problem]:
        """The records as problems.

        Args:
            records: each with its place.

        Raises:
            BadInputError: a record lacks a question or an answer.
        """
        return own_problems(records, self.source, self.reference_column)

    def read(self, split: str) -> list[Problem]:
        """All problems of a split.

        Raises:
            MissingFileError, BackendError, BadInputError: as `table` and `problems_of`.
        """
        return list(self.problems_of(self.table(split).read()))

    def open_split(self, split: str) -> Sequence[Problem]:
        """As `read`. Those of a large table are read once, and then mapped from the disk by all processes."""
        table = self.table(split)
        if table.version:
            try:
                return MappedProblems.of(self, table)
            except OSError as error:
                logger.warning(
                    "%s: each process holds its problems, since the cache cannot be written: %s", self.name, error
                )
        return list(self.problems_of(table.read()))

    def select(self, problems: Sequence[Problem], places: Sequence[int]) -> Sequence[Problem]:
        """Those at these places; what is on the disk stays there."""
        return problems.select(places) if isinstance(problems, MappedProblems) else super().select(problems, places)


class FileSet(TableSet):
    """The problems of a local file. A file has no splits, so every split is the whole file.

    Args:
        reference_column: as the attribute.
    """

    def __init__(self, name: str, reference_column: str | None = None) -> None:
        self.name = name
        self.reference_column = reference_column

    @property
    def source(self) -> str:
        """The file's name without its ending."""
        return Path(self.name).stem

    def table(self, split: str) -> Table:
        """The file.

        Raises:
            MissingFileError: there is no such file.
        """
        path = local_file(self.name)
        if path is None:
            raise MissingFileError(f"{self.name}: no such file, here or in COOPER_DATA_DIR")
        return Table.of_file(path)

    def check(self, split: str) -> None:
        """Reads the file, so that its errors are found before a model is loaded."""
        if not len(self.open_split(split)):
            raise BadInputError(f"{self.name}: the file has no problem with an answer")


class HubSet(TableSet):
    """Any data set of the hub whose records have the usual column names.

    Args:
        name: its id `owner/name`.
        configuration: one of its configurations (subsets); None takes its default.
        reference_column: as the attribute.
    """

    def __init__(self, name: str, configuration: str | None = None, reference_column: str | None = None) -> None:
        self.name = name
        self.configuration = configuration
        self.reference_column = reference_column

    def table(self, split: str) -> Table:
        """A split on the hub.

        Raises:
            BackendError: the hub cannot be read.
        """
        return Table.of_hub(self.name, from_hub(self.name, self.configuration, split))


class MappedProblems(Sequence[Problem]):
    """Problems in an Arrow file of the cache of `datasets`, which all processes of a machine share.

    Attributes:
        data: their fields, a row each, mapped into memory.
        source: what all of them have as their source.
    """

    def __init__(self, data: Any, source: str) -> None:
        self.data, self.source = data, source

    @classmethod
    def of(cls, domain: TableSet, table: Table) -> MappedProblems:
        """The problems of a table. The process that comes first reads and checks it, while the others wait.

        A table of another version is read anew.

        Raises:
            BadInputError: a record lacks a question or an answer.
            OSError: the cache cannot be written.
        """
        from datasets import Dataset, Features, List, Value
        from datasets.exceptions import DatasetGenerationError

        texts = dict.fromkeys(("question", "reference_answer", "problem_id", "worked_solution"), Value("string"))
        try:
            data = Dataset.from_generator(
                _Rows(domain, table), features=Features({**texts, "aliases": List(Value("string"))})
            )
        except DatasetGenerationError as error:
            raise error.__cause__ or error from None
        return cls(data, domain.source)

    def select(self, places: Sequence[int]) -> MappedProblems:
        """Those at these places, in this order."""
        return MappedProblems(self.data.select(places), self.source)

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


class _Rows:
    """The problems of a table, a row each. `datasets` finds its cached file again by the state that pickle sees."""

    def __init__(self, domain: TableSet, table: Table) -> None:
        self.domain, self.table = domain, table

    def __getstate__(self) -> Any:
        kind, code = type(self.domain), (path.read_bytes() for part in READ_BY for path in sorted(ROOT.glob(part)))
        by = zlib.crc32(b"".join(code)), kind.__module__, kind.__qualname__, self.domain.reference_column
        return {"by": by, "table": self.table.version}

    def __call__(self) -> Iterator[dict[str, Any]]:
        for problem in self.domain.problems_of(self.table.read()):
            texts = {name: getattr(problem, name) for name in ("question", "reference_answer", "problem_id")}
            worked = problem.metadata.get("worked_solution", "")
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
