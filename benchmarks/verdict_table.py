"""The table of verdicts: right answers called INCORRECT, wrong ones called CORRECT, and right ones left open.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/verdict_table.py --mistakes FILE

Sets: the pairs of the second round (verifier/round2.dev.jsonl), overall and by class with what is left; and the sets of
the folder `beyond`, where a record's aliases are further references and records without a reference are left out, by
`math` and by `auto`. Intervals: Wilson, 95 %.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from beyond_figures import records_of
from verifier_figures import share

from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

PAIRS = "round2.dev.jsonl"
ENDING = ".dev.jsonl.gz"
FAULTS = ("right called INCORRECT", "wrong called CORRECT", "right ones left open")
SAID = {  # a label and the verdicts that are this fault, in the order of FAULTS
    FAULTS[0]: (True, {Verdict.INCORRECT}),
    FAULTS[1]: (False, {Verdict.CORRECT}),
    FAULTS[2]: (True, set(Verdict) - {Verdict.CORRECT, Verdict.INCORRECT}),
}


@dataclass(frozen=True)
class Labelled:
    """An answer with its label, and the class that it belongs to, if its set has classes."""

    references: tuple[str, ...]
    completion: str
    right: bool
    kind: str = ""


def pairs_of(path: Path) -> list[Labelled]:
    records = map(json.loads, path.read_text().splitlines())
    return [Labelled((r["reference_answer"],), r["response"], r["label"] == "right", r["class"]) for r in records]


def answers_of(folder: Path, name: str) -> list[Labelled]:
    return [
        Labelled((r["reference_answer"], *filter(str.strip, r["aliases"])), r["response"], bool(r["label"]))
        for r in records_of(folder, name)
    ]


def judged(items: list[Labelled], kind: str, workers: int) -> list[Verdict]:
    with RuleVerifier(kind, workers=workers, deadline_seconds=60) as verifier:  # a busy machine changes nothing
        return verifier.verify_many([item.references for item in items], [item.completion for item in items])


def counts_of(items: list[Labelled], verdicts: list[Verdict]) -> Counter[str]:
    """How many are right, wrong, and have each fault."""
    counts = Counter("right" if item.right else "wrong" for item in items)
    for fault, (label, said) in SAID.items():
        counts[fault] = sum(i.right is label and v in said for i, v in zip(items, verdicts, strict=True))
    return counts


def row(name: str, kind: str, counts: Counter[str]) -> str:
    cells = [name, kind, f"{counts['right']:,}", f"{counts['wrong']:,}"]
    cells += [share(counts[fault], counts["right" if label else "wrong"]) for fault, (label, _) in SAID.items()]
    return f"| {' | '.join(cells)} |"


def lines_of_classes(items: list[Labelled], verdicts: list[Verdict]) -> list[str]:
    """A line for each class that has something left, the worst first."""
    lines = []
    for kind in dict.fromkeys(item.kind for item in items):
        own = [(item, v) for item, v in zip(items, verdicts, strict=True) if item.kind == kind]
        counts = counts_of([item for item, _ in own], [verdict for _, verdict in own])
        numbers = [counts[fault] for fault in FAULTS]
        if any(numbers):
            text = "| " + " | ".join([kind, str(counts["right"]), str(counts["wrong"]), *map(str, numbers)]) + " |"
            lines.append((numbers[0] + numbers[1], numbers[2], text))
    return [text for _, _, text in sorted(lines, key=lambda line: line[:2], reverse=True)]


def mistakes_of(name: str, kind: str, items: list[Labelled], verdicts: list[Verdict]) -> list[dict[str, object]]:
    """The records of right ones called INCORRECT and of wrong ones called CORRECT."""
    faults = {(label, verdict) for label, said in list(SAID.values())[:2] for verdict in said}
    found = [(i, v) for i, v in zip(items, verdicts, strict=True) if (i.right, v) in faults]
    return [{"set": name, "verifier": kind, "verdict": verdict.value, **vars(item)} for item, verdict in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", help="names of files in beyond/, without .dev.jsonl.gz; all if left out, none if ''")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--mistakes", type=Path, help="write every disagreement with a label here")
    arguments = parser.parse_args()
    folder = Path(os.environ["COOPER_DATA_DIR"])
    every = sorted(path.name.removesuffix(ENDING) for path in folder.glob(f"beyond/*{ENDING}"))
    names = every if arguments.sets is None else list(filter(None, arguments.sets.split(",")))
    print("| set | verifier | right | wrong | " + " | ".join(FAULTS) + " |\n" + "|---" * 7 + "|")
    pairs = pairs_of(folder / "verifier" / PAIRS)
    verdicts = judged(pairs, "math", arguments.workers)
    print(row(PAIRS, "math", counts_of(pairs, verdicts)), flush=True)
    mistakes = mistakes_of(PAIRS, "math", pairs, verdicts)
    together: dict[str, Counter[str]] = {"math": Counter(), "auto": Counter()}
    for name in names:
        items = answers_of(folder, name)
        for kind, pooled in together.items() if items else ():
            found = judged(items, kind, arguments.workers)
            counts = counts_of(items, found)
            pooled += counts
            print(row(name, kind, counts), flush=True)
            mistakes += mistakes_of(name, kind, items, found)
    for kind, pooled in together.items() if names else ():
        print(row("beyond, together", kind, pooled))
    print(f"\nWhat is left of {PAIRS}, by class\n\n| class | right | wrong | " + " | ".join(FAULTS) + " |")
    print("\n".join(["|---" * 6 + "|", *lines_of_classes(pairs, verdicts)]))
    if arguments.mistakes:
        arguments.mistakes.write_text("".join(json.dumps(record) + "\n" for record in mistakes))


if __name__ == "__main__":
    main()
