"""Precision and recall of a rule verifier on labelled answers outside mathematics.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/beyond_figures.py --verifier text --halves

A record's aliases are further references. Precision: of those found CORRECT, how many are labelled right. Recall: of
the right ones, how many are found. Intervals: Wilson, 95 %. The halves are told by a hash of the question: mistakes of
the first were read while the rule for text was made, and the second confirms it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from verifier_figures import share

from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

SETS = ("evouna-nq", "evouna-tq")
HALVES = ("read", "confirming")
Counts = Counter[tuple[bool, Verdict]]


def records_of(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / "beyond" / f"{name}.dev.jsonl.gz", "rt") as lines:
        return [record for record in map(json.loads, lines) if record["reference_answer"].strip()]


def half_of(question: str) -> str:
    return HALVES[int(hashlib.sha256(question.encode()).hexdigest(), 16) % 2]


def row(name: str, counts: Counts) -> str:
    """A line of the table."""
    right = sum(number for (label, _), number in counts.items() if label)
    wrong = counts.total() - right
    hits, errors = counts[True, Verdict.CORRECT], counts[False, Verdict.CORRECT]
    cells = [name, str(right), str(wrong), share(hits, hits + errors), share(hits, right)]
    cells += [share(counts[True, Verdict.INCORRECT], right), share(counts[False, Verdict.INCORRECT], wrong)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verifier", default="text")
    parser.add_argument("--sets", default=",".join(SETS), help="names of files in beyond/, without .dev.jsonl.gz")
    parser.add_argument("--halves", action="store_true", help="also a line for each half of a set")
    parser.add_argument("--mistakes", type=Path, help="write every disagreement of the first half with a label here")
    arguments = parser.parse_args()
    folder = Path(os.environ["COOPER_DATA_DIR"])
    print("| set | right | wrong | precision | recall | right called INCORRECT | wrong called INCORRECT |")
    print("|---" * 7 + "|")
    pooled: Counts = Counter()
    mistakes = []
    for name in arguments.sets.split(","):
        records = records_of(folder, name)
        with RuleVerifier(
            arguments.verifier, deadline_seconds=60
        ) as verifier:  # so that a busy machine changes nothing
            references = [[r["reference_answer"], *filter(str.strip, r["aliases"])] for r in records]
            verdicts = verifier.verify_many(references, [r["response"] for r in records])
        by_half: dict[str, Counts] = {half: Counter() for half in HALVES}
        for record, verdict in zip(records, verdicts, strict=True):
            half, label = half_of(record["question"]), bool(record["label"])
            by_half[half][label, verdict] += 1
            if half == HALVES[0] and verdict is (Verdict.INCORRECT if label else Verdict.CORRECT):
                mistakes.append({**record, "verdict": verdict.value})
        whole: Counts = sum(by_half.values(), Counter())
        pooled += whole
        print(row(name, whole), flush=True)
        for half, counts in by_half.items() if arguments.halves else ():
            print(row(f"{name}, {half} half", counts), flush=True)
    print(row("together", pooled))
    if arguments.mistakes:
        arguments.mistakes.write_text("".join(json.dumps(record) + "\n" for record in mistakes))


if __name__ == "__main__":
    main()
