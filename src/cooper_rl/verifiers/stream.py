"""`cooper verify`: JSONL in, the same records with a verdict out, in constant memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from cooper_rl.columns import aliases_of
from cooper_rl.errors import BadInputError
from cooper_rl.jsonl import COMPLETION_FIELDS, REFERENCE_FIELDS, in_batches, line_of, read_written, records, text_field
from cooper_rl.records import Verification
from cooper_rl.verifiers.pool import RuleVerifier

BATCH = 512


def verify_stream(
    lines: Iterable[str],
    write: Callable[[str], object],
    *,
    verifier: RuleVerifier,
    explain: bool = False,
    source: str = "<stdin>",
    done: int = 0,
    progress: Callable[..., object] | None = None,
) -> Counter[str]:
    """Copies records in order, with a `verdict` added; `explain` also adds `reason` and both parsed answers.

    A record's `aliases` are further references: a completion is right if it is so by one of them.

    Args:
        done: the number of records that an earlier call has written; as many are skipped.
        progress: called with `completed`, the number of records written so far.

    Returns:
        The number of each verdict among the records that this call has written.

    Raises:
        BadInputError: a line is not a JSON object with `reference` and `completion`; the records before it are written.
    """
    counts: Counter[str] = Counter()
    for batch in in_batches(_read_items(islice(records(lines, source), done, None)), BATCH):
        results = verifier.explain_many([item[1] for item in batch], [item[2] for item in batch])
        for (record, _, _), result in zip(batch, results, strict=True):
            counts[result.verdict.value] += 1
            write(line_of({**record, **describe(result, explain)}))
        if progress:
            progress(completed=done + counts.total())
    return counts


def _read_items(placed: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[dict[str, Any], list[str], str]]:
    """(record, its references, its completion) of each record."""
    for place, record in placed:
        references = [text_field(record, REFERENCE_FIELDS, place), *aliases_of(record, place)]
        yield record, references, text_field(record, COMPLETION_FIELDS, place)


def describe(found: Verification, explain: bool) -> dict[str, str]:
    """What is added to a record: the verdict, and with `explain` its reason, both answers and what was left unread."""
    told = {"verdict": found.verdict.value}
    if explain:
        told["reason"] = found.reason.value
        told["parsed_reference"] = found.parsed_reference or ""
        told["parsed_answer"] = found.parsed_answer or ""
        told |= {"unread": found.unread} if found.unread else {}
    return told


def count_finished(path: Path) -> Counter[str]:
    """The number of each verdict in an output file. A half-written last line is removed from the file.

    Raises:
        BadInputError: a record of the file has no verdict.
    """
    counts: Counter[str] = Counter()
    for place, record in read_written(path):
        if "verdict" not in record:
            raise BadInputError(f"{place}: the record has no verdict; give another --output")
        counts[str(record["verdict"])] += 1
    return counts
