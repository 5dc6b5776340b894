"""`cooper verify`: JSONL in, the same records with a verdict out, in constant memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cooper_rl.errors import BadInputError
from cooper_rl.verifiers.pool import RuleVerifier

REFERENCE_FIELDS = ("reference", "reference_answer", "answer")
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
    """Copies records with a `verdict` (and, to explain, `reason` and both parsed answers), in order.

    Args:
        done: records that were written before; as many are passed over.
        progress: told, as `completed`, the number of records written so far.

    Returns:
        How many of each verdict, of the records written now.

    Raises:
        BadInputError: a line is not a JSON object with `reference` and `completion`; the records before it are written.
    """
    counts: Counter[str] = Counter()
    batch: list[tuple[dict[str, Any], str, str]] = []
    passed = 0

    def flush() -> None:
        results = verifier.explain_many([item[1] for item in batch], [item[2] for item in batch])
        for (record, _, _), result in zip(batch, results, strict=True):
            counts[result.verdict.value] += 1
            added = {"verdict": result.verdict.value}
            if explain:
                added["reason"] = result.reason.value
                added["parsed_reference"] = result.parsed_reference or ""
                added["parsed_answer"] = result.parsed_answer or ""
            write(json.dumps({**record, **added}, ensure_ascii=False) + "\n")
        batch.clear()
        if progress:
            progress(completed=done + counts.total())

    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if passed < done:
            passed += 1
            continue
        try:
            batch.append(_record(line, f"{source}:{number}"))
        except BadInputError:
            flush()
            raise
        if len(batch) == BATCH:
            flush()
    flush()
    return counts


def finished(path: Path) -> Counter[str]:
    """How many of each verdict an output file already holds; a half-written last line is cut off.

    Raises:
        BadInputError: the file holds something else.
    """
    counts: Counter[str] = Counter()
    end = 0
    with path.open("rb+") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                counts[str(json.loads(line)["verdict"])] += 1
            except (ValueError, KeyError, TypeError) as error:
                raise BadInputError(f"{path}:{number}: no verdict in it; give another --output") from error
            end += len(line)
        file.truncate(end)
    return counts


def _record(line: str, place: str) -> tuple[dict[str, Any], str, str]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInputError(f"{place}: not JSON ({error.msg}); each line must be one object") from error
    if not isinstance(record, dict):
        raise BadInputError(f"{place}: not a JSON object")
    reference = next((record[name] for name in REFERENCE_FIELDS if name in record), None)
    for name, value in (("reference", reference), ("completion", record.get("completion"))):
        if not isinstance(value, str):
            raise BadInputError(f"{place}: field {name!r} is missing or not text")
    return record, str(reference), record["completion"]
