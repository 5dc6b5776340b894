"""The public data sets by name: local copies in COOPER_DATA_DIR first, then the Hugging Face hub."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cooper_rl.domains.files import read_records, to_problem
from cooper_rl.errors import BackendError, BadInputError
from cooper_rl.records import Problem

logger = logging.getLogger(__name__)
Convert = Callable[[dict[str, Any]], tuple[str, str | None, str]]  # question, reference answer, worked solution


def _gsm8k(record: dict[str, Any]) -> tuple[str, str | None, str]:
    answer = record["answer"].rpartition("####")[2].strip().replace(",", "")
    return record["question"], answer, re.sub(r"<<.*?>>", "", record["answer"]).strip()


def _math(record: dict[str, Any]) -> tuple[str, str | None, str]:
    return record["problem"], record.get("answer"), record.get("solution", "")


def _svamp(record: dict[str, Any]) -> tuple[str, str | None, str]:
    answer = float(record["Answer"])
    return f"{record['Body'].strip()} {record['Question'].strip()}", f"{answer:g}", ""


def _olympiad(record: dict[str, Any]) -> tuple[str, str | None, str]:
    answer = record["final_answer"]
    return record["question"], answer[0] if isinstance(answer, list) else answer, ""


def _aqua(record: dict[str, Any]) -> tuple[str, str | None, str]:
    options = " ".join(record["options"])
    return f"{record['question']} Answer choices: {options}", record["correct"], record.get("rationale", "")


def _odyssey(record: dict[str, Any]) -> tuple[str, str | None, str]:
    if "answer" not in record:  # the published file nests each problem under its number; the hub's is flat
        (record,) = record.values()
    named = ("problem_statement", "problem", "question")
    return next(str(record[name]) for name in named if name in record), str(record["answer"]), ""


@dataclass(frozen=True)
class PublicSet:
    """Where a set is, by split: the local file's name and the hub's (id, configuration, split)."""

    convert: Convert
    local: dict[str, str]
    hub: dict[str, tuple[str, str | None, str]]


PUBLIC = {
    "gsm8k": PublicSet(
        _gsm8k,
        {"train": "gsm8k_train.jsonl", "test": "gsm8k_test.jsonl"},
        {"train": ("openai/gsm8k", "main", "train"), "test": ("openai/gsm8k", "main", "test")},
    ),
    "math": PublicSet(
        _math,
        {"train": "math_train12000.jsonl"},
        {"train": ("nlile/hendrycks-MATH-benchmark", None, "train")},  # the 12,000 that are not in MATH-500
    ),
    "math500": PublicSet(_math, {"test": "math500.jsonl"}, {"test": ("HuggingFaceH4/MATH-500", None, "test")}),
    "svamp": PublicSet(_svamp, {"test": "SVAMP.json"}, {"test": ("ChilleD/SVAMP", None, "test")}),
    "olympiadbench": PublicSet(
        _olympiad,
        {"test": "olympiadbench_oe_maths_en.jsonl"},
        {"test": ("Hothan/OlympiadBench", "OE_TO_maths_en_COMP", "train")},
    ),
    "odyssey": PublicSet(_odyssey, {"test": "odyssey_math.jsonl"}, {"test": ("MathOdyssey/MathOdyssey", None, "test")}),
    "aqua": PublicSet(_aqua, {"test": "aqua_test.json"}, {"test": ("deepmind/aqua_rat", "raw", "test")}),
}


def load_public(name: str, split: str) -> list[Problem]:
    """All problems of a public set, or of any hub id with the usual field names.

    Raises:
        BadInputError: the set has no such split (`odyssey` and the other benchmarks have no `train`).
        BackendError: neither a local copy nor the hub could be read.
    """
    if name not in PUBLIC:
        records = from_hub(name, None, split)
        return [to_problem(r, f"{name}[{i}]", name) for i, r in enumerate(records)]
    known = PUBLIC[name]
    if split not in known.local:
        raise BadInputError(f"{name} has no split {split!r} here, only {', '.join(known.local)}")
    path = local_copy(known.local[split])
    records = (record for _, record in read_records(path)) if path else from_hub(*known.hub[split])
    return _convert(name, known.convert, records)


def local_copy(filename: str) -> Path | None:
    """The file in COOPER_DATA_DIR, if it is there."""
    root = os.environ.get("COOPER_DATA_DIR")
    if not root:
        return None
    candidates = (Path(root) / "problems" / filename, Path(root) / filename)
    return next((path for path in candidates if path.is_file()), None)


def _convert(name: str, convert: Convert, records: Iterable[dict[str, Any]]) -> list[Problem]:
    problems, unanswered = [], 0
    for index, record in enumerate(records):
        question, answer, solution = convert(record)
        if not answer or not question:
            unanswered += 1
            continue
        problems.append(Problem(question, str(answer), name, f"{name}-{index}", {"worked_solution": solution}))
    if unanswered:
        logger.warning("%s: %d records without an answer left out", name, unanswered)
    return problems


def from_hub(
    name: str, configuration: str | None, split: str, *, data_files: str | None = None
) -> Iterable[dict[str, Any]]:
    """The records of a hub data set, or of one of its files.

    Raises:
        BackendError: it cannot be read.
    """
    import datasets

    try:
        loaded: Iterable[dict[str, Any]] = datasets.load_dataset(
            name, configuration, split=split, data_files=data_files
        )
    except (OSError, ValueError, datasets.exceptions.DatasetNotFoundError) as error:
        raise BackendError(f"{name}: not read from the hub ({error}); set COOPER_DATA_DIR to local copies") from error
    return loaded
