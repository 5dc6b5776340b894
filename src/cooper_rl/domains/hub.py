"""Data sets of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cooper_rl.domains.domain import StoredDomain
from cooper_rl.domains.files import to_problem
from cooper_rl.errors import BackendError
from cooper_rl.records import Problem


class HubSet(StoredDomain):
    """Any data set of the hub whose records have the usual field names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, split: str) -> list[Problem]:
        """All problems of a split.

        Raises:
            BackendError: the hub cannot be read.
            BadInputError: a record lacks a question or an answer.
        """
        records = from_hub(self.name, None, split)
        return [to_problem(record, f"{self.name}[{i}]", self.name) for i, record in enumerate(records)]


def from_hub(
    name: str, configuration: str | None, split: str, *, data_files: str | None = None
) -> Iterable[dict[str, Any]]:
    """The records of a hub data set, or of one of its files.

    Raises:
        BackendError: the data set cannot be read.
    """
    import datasets

    try:
        loaded: Iterable[dict[str, Any]] = datasets.load_dataset(
            name, configuration, split=split, data_files=data_files
        )
    except (OSError, ValueError, datasets.exceptions.DatasetNotFoundError) as error:
        raise BackendError(f"{name}: the hub cannot be read ({error}); set COOPER_DATA_DIR to local copies") from error
    return loaded
