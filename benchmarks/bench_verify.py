"""RuleVerifier against plain math-verify in one loop, on the same 20,000 (reference, completion) pairs.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/bench_verify.py --differences runs/differences.jsonl

The pairs are completions of models on GSM8K and MATH from the labelled files, and answers of GSM8K and MATH train
problems in a closing sentence. Turns alternate, each with fresh caches. Target: 20 times as many a second on 2 cores.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from cooper_rl.domains import load_problems
from cooper_rl.records import Verdict
from cooper_rl.verifiers import RuleVerifier

Pair = tuple[str, str, bool]
TYPICAL = ("gsm8k_test", "math500", "math_test")
CLOSINGS = (
    r"Therefore, the answer is $\boxed{{{}}}$.",
    "The answer is ${}$.",
    "So we get\n\\[\n\\boxed{{{}}}\n\\]",
    "#### {}",
)


def pairs(count: int) -> list[Pair]:
    """(reference, completion, label) in shuffled order: GSM8K and MATH completions of models from labelled files, then
    GSM8K and MATH train answers, their own or another problem's, in a closing sentence with a box."""
    folder = Path(os.environ["COOPER_DATA_DIR"]) / "labelled"
    found: list[Pair] = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            records = [json.loads(line) for line in file]
        found += [
            (r["answer"], r["completion"], r["correct"]) for r in records if r["overlap"] in TYPICAL and r["answer"]
        ]
    rng = random.Random(0)
    for name in ("gsm8k", "math"):
        problems = load_problems(name, split="train")
        for problem in problems:
            own = rng.random() < 0.5
            answer = problem.reference_answer if own else rng.choice(problems).reference_answer
            text = rng.choice(CLOSINGS).format(answer)
            found.append((problem.reference_answer, text, answer == problem.reference_answer))
    rng.shuffle(found)
    return found[:count]


def plain(items: list[Pair]) -> list[bool]:
    """math-verify as its users call it: its own time-outs, the main thread."""
    from math_verify import parse, verify

    return [bool(verify(parse(f"${reference}$"), parse(completion))) for reference, completion, _ in items]


def ours(items: list[Pair], workers: int) -> tuple[list[Verdict], float]:
    """The verdicts and the seconds they took."""
    with RuleVerifier(workers=workers) as verifier:
        verifier.verify("1", "1")  # starting the processes is not counted for the loop either
        started = time.perf_counter()
        verdicts = verifier.verify_many([r for r, _, _ in items], [c for _, c, _ in items])
        return verdicts, time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--differences", type=Path)
    parser.add_argument("--plain-once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    items = pairs(arguments.pairs)
    if arguments.plain_once:  # a process of its own: fresh caches, and signals in its main thread
        plain(items[:1])
        started = time.perf_counter()
        verdicts = plain(items)
        print(json.dumps({"seconds": time.perf_counter() - started, "verdicts": verdicts}))
        return
    ratios = []
    for turn in range(arguments.turns):
        command = [sys.executable, __file__, "--plain-once", "--pairs", str(arguments.pairs)]
        theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
        found, seconds = ours(items, arguments.workers)
        ratios.append(theirs["seconds"] / seconds)
        print(f"turn {turn}: plain {theirs['seconds']:.1f} s, ours {seconds:.2f} s, ratio {ratios[-1]:.1f}", flush=True)
    spread = f"{min(ratios):.1f} to {max(ratios):.1f} over {len(ratios)} turns"
    print(f"ratio: median {statistics.median(ratios):.1f}, {spread}")
    for name, correct in (
        ("plain", theirs["verdicts"]),
        ("ours", [verdict is Verdict.CORRECT for verdict in found]),
    ):
        counts = Counter(zip((own for _, _, own in items), correct, strict=True))
        precision = counts[True, True] / max(1, counts[True, True] + counts[False, True])
        recall = counts[True, True] / max(1, counts[True, True] + counts[True, False])
        print(f"{name}: precision {precision:.4f}, recall {recall:.4f} against the labels")
    if arguments.differences:
        with arguments.differences.open("w") as file:
            for (reference, completion, own), theirs_say, verdict in zip(items, theirs["verdicts"], found, strict=True):
                if theirs_say != (verdict is Verdict.CORRECT):
                    record = {"reference": reference, "completion": completion, "label": own}
                    file.write(json.dumps({**record, "math_verify": theirs_say, "ours": verdict.value}) + "\n")


if __name__ == "__main__":
    main()
