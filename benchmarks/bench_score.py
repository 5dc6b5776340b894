"""VerifyRM.score against the transformers text-classification pipeline on the same 1,024 triples of uneven length.

    python benchmarks/bench_score.py

Eight completions share each question. Both run in this process, turn by turn. Target: at least 2 times the pipeline's
throughput, scores equal to 1e-4.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import torch
from transformers import pipeline

from cooper_rl.domains.nano import NANO
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.template import render


def triples(count: int) -> tuple[list[str], list[str], list[str]]:
    """Questions, references and completions of one to four statements, in shuffled order."""
    rng = random.Random(0)
    rows = [
        (p.question, p.reference_answer, " ".join(NANO.write(p, rng) for _ in range(rng.randint(1, 4))))
        for p in NANO.problems("train", count // 8, 11)
        for _ in range(8)
    ]
    rng.shuffle(rows)
    questions, references, completions = zip(*rows, strict=True)
    return list(questions), list(references), list(completions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="nano")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    path = resolve_model(arguments.model, "reward_model")
    reward_model = VerifyRM.from_pretrained(path)
    peer = pipeline("text-classification", model=path, function_to_apply="sigmoid", batch_size=32)
    fields = triples(1024)
    texts = [render(*row) for row in zip(*fields, strict=True)]
    ratios, difference = [], 0.0
    for turn in range(arguments.turns + 1):
        started = time.perf_counter()
        ours = reward_model.score(*fields)
        between = time.perf_counter()
        theirs = torch.tensor([output["score"] for output in peer(texts)])
        ended = time.perf_counter()
        difference = max(difference, (ours - theirs).abs().max().item())
        if turn:  # the first one warms up
            ratios.append((ended - between) / (between - started))
            print(
                f"turn {turn}: ours {between - started:.3f} s, pipeline {ended - between:.3f} s, ratio {ratios[-1]:.2f}"
            )
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(
        f"ratio: median {statistics.median(ratios):.2f}, {spread} over {len(ratios)} turns; "
        f"greatest difference of a score {difference:.1e}"
    )


if __name__ == "__main__":
    main()
