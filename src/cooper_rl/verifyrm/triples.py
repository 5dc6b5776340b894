"""Reads labelled triples, and triples to score. Every error names file, record and field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import REFERENCE_FIELDS, label_of, line_of, records, text_field
from cooper_rl.records import LabelledCompletion, Triple
from cooper_rl.tables import read_table

if TYPE_CHECKING:
    from cooper_rl.verifyrm.model import VerifyRM


def read_triples(name: str | Path) -> list[LabelledCompletion]:
    """Labelled triples of a JSONL (.gz too), JSON or parquet file, here or in COOPER_DATA_DIR, or of a hub data set.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: a record is bad (the message names file, record and field), or there is no record.
        BackendError: the hub cannot be read.
    """
    triples = [
        LabelledCompletion(
            *triple_of(record, place),
            label_of(record, place),
            str(record.get("source", "")),
            str(record.get("problem_id", "")),
        )
        for place, record in read_table(name, "labelled triples")
    ]
    if not triples:
        raise BadInputError(f"{name}: the file has no labelled triple")
    return triples


def triple_of(record: dict[str, Any], place: str) -> Triple:
    """The triple to score in a file's record.

    Raises:
        BadInputError: a field is missing or is not text.
    """
    return Triple(
        text_field(record, ("question",), place),
        text_field(record, REFERENCE_FIELDS, place),
        text_field(record, ("completion",), place),
    )


def score_stream(
    lines: Iterable[str], write: Callable[[str], object], reward_model: VerifyRM, *, source: str = "<stdin>"
) -> int:
    """Copies JSONL triples with a `score` added, in order and in constant memory. Returns how many."""
    count = 0
    batch: list[tuple[str, dict[str, Any]]] = []

    def flush() -> None:
        triples = [triple_of(record, place) for place, record in batch]
        if triples:
            scores = reward_model.score_records(triples)
            for (_, record), score in zip(batch, scores.tolist(), strict=True):
                write(line_of({**record, "score": score}))
        batch.clear()

    for item in records(lines, source):
        batch.append(item)
        count += 1
        if len(batch) == 512:
            flush()
    flush()
    return count
