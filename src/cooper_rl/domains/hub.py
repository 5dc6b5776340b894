"""Data sets of the Hugging Face hub."""

from __future__ import annotations

from cooper_rl.domains.domain import StoredDomain
from cooper_rl.domains.files import to_problem
from cooper_rl.records import Problem
from cooper_rl.tables import from_hub


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
