"""Held-out triples for the nano VerifyRM: completions of the nano policy, labelled by rule and by the generator.

`python -m studies.nano.collect --split reward_model_heldout --size 3000 --out FILE` writes them. The
generator's own scorer takes the place of the judge, since it is independent of the rule. A triple is kept where the two
agree. Where the rule cannot tell (UNPARSEABLE), the scorer alone decides.

The guard's anchors that the package ships were made with
`--split reward_model_heldout --size 3000 --seed 2 --without heldout.jsonl.gz --balanced 1000 --out anchors.jsonl.gz`
(both files in `nano/shipped/arithmetic/reward_model`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

from cooper_rl.domains.nano import NANO, WORLDS
from cooper_rl.domains.nano.demonstrations import NanoWorld
from cooper_rl.generation import Sampling
from cooper_rl.generation.in_process import sample
from cooper_rl.jsonl import line_of, open_lines, write_atomically
from cooper_rl.records import Problem, Verdict
from cooper_rl.settings.files import resolve_model
from cooper_rl.verifiers import RuleVerifier

logger = logging.getLogger(__name__)
MAX_NEW_TOKENS = 72


def collect(
    policy: str, split: str, size: int, seed: int, temperature: float = 1.0, world: NanoWorld = NANO
) -> list[dict[str, Any]]:
    """`size` completions with both labels, four of each problem."""
    model = AutoModelForCausalLM.from_pretrained(policy)
    tokenizer = AutoTokenizer.from_pretrained(policy)
    problems = [problem for problem in world.problems(split, -(-size // 4), seed) for _ in range(4)][:size]
    completions = sample(
        model,
        tokenizer,
        [problem.question for problem in problems],
        Sampling(MAX_NEW_TOKENS, temperature),
        seed=seed,
        batch_size=512,
    )
    with RuleVerifier("math_verify") as verifier:
        verdicts = verifier.verify_many([p.references for p in problems], completions)
    return [
        record(world, problem, completion, verdict)
        for problem, completion, verdict in zip(problems, completions, verdicts, strict=True)
    ]


def record(world: NanoWorld, problem: Problem, completion: str, verdict: Verdict) -> dict[str, Any]:
    """A triple with the rule's verdict and the generator's label."""
    return {
        "question": problem.question,
        "reference": problem.reference_answer,
        "completion": completion,
        "correct": world.is_true(problem, completion),
        "verdict": verdict.value,
        "source": problem.source,
        "problem_id": problem.problem_id,
    }


def keep_agreed(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records where rule and generator do not contradict each other."""
    return [
        r
        for r in records
        if r["verdict"] not in ("CORRECT", "INCORRECT") or (r["verdict"] == "CORRECT") == r["correct"]
    ]


def confusion_table(records: Sequence[dict[str, Any]]) -> str:
    """The rule's verdicts counted against the generators' scorers, with the rule's precision and recall."""
    counts = Counter((r["verdict"], r["correct"]) for r in records)
    lines = ["rule verdict   right   wrong"]
    lines += [f"{v.value:<12} {counts[v.value, True]:>7} {counts[v.value, False]:>7}" for v in Verdict]
    said, hit = counts["CORRECT", True] + counts["CORRECT", False], counts["CORRECT", True]
    right = sum(r["correct"] for r in records)
    lines.append(f"precision {hit / max(1, said):.3f} ({hit}/{said}), recall {hit / max(1, right):.3f} ({hit}/{right})")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Collect labelled triples of the nano policy.")
    parser.add_argument("--policy", default="nano", help="a model folder, or nano")
    parser.add_argument("--world", choices=WORLDS, default="nano")
    parser.add_argument("--split", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--balanced", type=int, help="keep this many triples, half of them right")
    parser.add_argument("--without", type=Path, help="leave out questions that are in this file (.jsonl.gz)")
    parser.add_argument("--out", type=Path, required=True, help=".jsonl or .jsonl.gz")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    policy = resolve_model(arguments.policy, "policy")
    records = collect(policy, arguments.split, arguments.size, arguments.seed, world=WORLDS[arguments.world])
    kept = keep_agreed(records)
    random.Random(arguments.seed).shuffle(kept)
    if arguments.without:
        with open_lines(arguments.without) as lines:
            others = {json.loads(line)["question"] for line in lines}
        kept = [r for r in kept if r["question"] not in others]
    if arguments.balanced:
        half = arguments.balanced // 2
        kept = [r for label in (True, False) for r in [r for r in kept if r["correct"] is label][:half]]
        random.Random(arguments.seed).shuffle(kept)
    text = "".join(map(line_of, kept))
    if arguments.out.suffix == ".gz":
        arguments.out.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        write_atomically(arguments.out, text)
    logger.info("%s\nkept %d of %d", confusion_table(records), len(kept), len(records))


if __name__ == "__main__":
    main()
