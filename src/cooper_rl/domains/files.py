"""Problems from a local JSONL, JSON or parquet file. Every error names file, record and field."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from cooper_rl.domains.domain import StoredDomain
from cooper_rl.errors import BadInputError, MissingFileError
from cooper_rl.records import Problem
from cooper_rl.settings.files import local_file
from cooper_rl.tables import read_records

QUESTION_FIELDS = ("question", "problem", "prompt", "Question", "Body")
ANSWER_FIELDS = ("reference_answer", "reference", "final_answer", "answer", "Answer")


class FileSet(StoredDomain):
    """The problems of a local file. A file has no splits, so every split is the whole file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, split: str) -> list[Problem]:
        """All problems of the file.

        Raises:
            MissingFileError: there is no such file.
            BadInputError: a record lacks a question or an answer.
        """
        path = local_file(self.name)
        if path is None:
            raise MissingFileError(f"{self.name}: no such file, here or in COOPER_DATA_DIR")
        return read_problem_file(path)

    def check(self, split: str) -> None:
        """Reads the file, so that its errors are found before a model is loaded."""
        if not self.read(split):
            raise BadInputError(f"{self.name}: the file has no problem with an answer")


def local_copy(filename: str) -> Path | None:
    """The copy of a published file in COOPER_DATA_DIR; None if there is none."""
    root = os.environ.get("COOPER_DATA_DIR")
    if not root:
        return None
    candidates = (Path(root) / "problems" / filename, Path(root) / filename)
    return next((path for path in candidates if path.is_file()), None)


def read_problem_file(path: Path) -> list[Problem]:
    """All problems of a file, in order.

    Raises:
        BadInputError: a record that is not an object, or lacks a question or an answer.
    """
    return [to_problem(record, place, path.stem) for place, record in read_records(path)]


def to_problem(record: dict[str, Any], place: str, source: str) -> Problem:
    """A record as a Problem, read by the usual field names."""
    question = _first(record, QUESTION_FIELDS, place)
    answer = _first(record, ANSWER_FIELDS, place)
    answer = answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
    body = record.get("Body")
    if isinstance(body, str) and isinstance(question, str) and question == record.get("Question"):  # as in SVAMP
        question = f"{body.strip()} {question.strip()}"
    if not isinstance(question, str) or not isinstance(answer, str | int | float):
        raise BadInputError(f"{place}: question must be text, and the answer text or a number")
    if isinstance(answer, float) and not math.isfinite(answer):
        raise BadInputError(f"{place}: the answer is {answer}, which is no number; leave the record out or correct it")
    if not question.strip() or not str(answer).strip():
        raise BadInputError(f"{place}: the question or the answer is blank; leave the record out or fill it in")
    metadata = {"worked_solution": record["worked_solution"]} if record.get("worked_solution") else {}
    return Problem(question, str(answer), source, str(record.get("problem_id", place)), metadata)


def _first(record: dict[str, Any], names: tuple[str, ...], place: str) -> Any:
    for name in names:
        if record.get(name) is not None:
            return record[name]
    raise BadInputError(f"{place}: the record needs one of {', '.join(names)}; it has {', '.join(sorted(record))}")
