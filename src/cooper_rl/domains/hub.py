"""Data sets of the Hugging Face hub."""

from __future__ import annotations

from cooper_rl.domains.domain import StoredDomain
from cooper_rl.domains.files import to_problem
from cooper_rl.records import Problem
from cooper_rl.tables import from_hub


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
