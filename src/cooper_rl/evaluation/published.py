"""Published sets of labelled completions, by name. They are read from COOPER_DATA_DIR or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cooper_rl.domains.own_data import local_copy
from cooper_rl.errors import BadInputError
from cooper_rl.evaluation.process import PROCESSBENCH
from cooper_rl.records import LabelledCompletion
from cooper_rl.tables import check_table, from_hub, read_records
from cooper_rl.verifyrm.triples import read_triples

Convert = Callable[[dict[str, Any]], Iterator[LabelledCompletion]]


def _verifybench(record: dict[str, Any]) -> Iterator[LabelledCompletion]:
    """One completion with a human label."""
    question, answer, completion = (str(record[name]) for name in ("question", "answer", "completion"))
    source = str(record.get("source", "verifybench"))
    yield LabelledCompletion(question, answer, completion, bool(record["gold_correct"]), source)


def _hardverify(record: dict[str, Any]) -> Iterator[LabelledCompletion]:
    """A right answer that rules call wrong, and a wrong answer."""
    for name, correct in (("fn_output", True), ("tn_output", False)):
        question, answer, completion = (str(record[key]) for key in ("question", "ground_truth", name))
        yield LabelledCompletion(question, answer, completion, correct, "hardverify_math")


@dataclass(frozen=True)
class Published:
    """The place of a set: its file's name in COOPER_DATA_DIR, and its id and file on the hub."""

    convert: Convert
    local: str
    hub: str
    hub_file: str | None = None


PUBLISHED = {
    "verifybench": Published(_verifybench, "verify_bench.jsonl", "ZJU-REAL/VerifyBench", "verify_bench.jsonl"),
    "verifybench_hard": Published(
        _verifybench, "verify_bench_hard.jsonl", "ZJU-REAL/VerifyBench", "verify_bench_hard.jsonl"
    ),
    "hardverify_math": Published(_hardverify, "HardVerify-Math.json", "zhangchenxu/HardVerify-Math"),
}


def load_labelled(name: str) -> list[LabelledCompletion]:
    """The triples of a published set, of a file, or of a hub data set.

    Raises:
        MissingFileError: there is no such file.
        BadInputError: a record lacks a field.
        BackendError: neither a local copy nor the hub could be read.
    """
    known = PUBLISHED.get(name)
    if known is None:
        return read_triples(name)
    path = local_copy(known.local)
    records: Iterable[dict[str, Any]]
    if path:
        records = (record for _, record in read_records(path))
    else:
        records = from_hub(known.hub, None, "train", data_files=known.hub_file)
    triples: list[LabelledCompletion] = []
    for number, record in enumerate(records, 1):
        try:
            triples += known.convert(record)
        except KeyError as error:
            raise BadInputError(f"{path or known.hub}: record {number} has no field {error}") from error
    return triples


def check_labelled(name: str) -> None:
    """Checks the name of a set, file or hub data set before a model is loaded.

    Raises:
        MissingFileError: there is neither a published set nor a file of this name.
    """
    if name not in (*PUBLISHED, PROCESSBENCH):
        check_table(name, f"labelled triples (by name: {', '.join([*PUBLISHED, PROCESSBENCH])})")
