"""What a long run drifts to, block by block, in a world whose truth is known.

    python benchmarks/drift.py RUN [RUN ...] --blocks 10 --drawn 16000 --read 200

A row a block of steps:

- true: held-out true accuracy, at the last measurement of the block.
- VerifyRM: its balanced accuracy on held-out triples, at the same.
- right, accepted, wrong among accepted: shares of the block's rollouts that are truly right, that VerifyRM accepts, and
  of the accepted ones that are truly wrong.
- right words: the share that is truly right where the reference is a word.
- both: accepted under a wrong reference too, of those that were asked under one.
- new: the share of rollouts whose last sentence has a wording that none of `--drawn` completions of the start has,
  drawn as in the run. The wording is the sentence without its numbers and weekdays.
- perplexity: of the rollouts under the start, a token.
- KL, entropy, length: the run's own metrics, means over the block.

`--read N` prints, of N accepted rollouts at the end that the truth calls wrong, each wording with its count: to see
which of the two errs.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from exploits_left import judged
from transformers import AutoModelForCausalLM, AutoTokenizer

from cooper_rl.domains.nano.silent import wording
from cooper_rl.domains.problems import load_problems
from cooper_rl.generation import Sampling
from cooper_rl.generation.generator import conversation
from cooper_rl.generation.in_process import render_chat, sample
from cooper_rl.records import THRESHOLD
from cooper_rl.report.runs import Run, read_run
from cooper_rl.settings.files import resolve_model
from cooper_rl.steps import steps_of

COLUMNS = ("true", "VerifyRM", "right", "right words", "accepted", "wrong among accepted", "both", "new", "perplexity")
METRICS = {"KL": "kl", "entropy": "entropy", "length": "completions/mean_length"}
ROWS = 256  # completions at once
Data = dict[str, Any]


class Start:
    """The policy that a run began with: the wordings that it writes, and how probable it finds a completion."""

    def __init__(self, run: Run, drawn: int) -> None:
        name = resolve_model(run.config["model_name_or_path"], "policy")
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32).eval()
        problems = load_problems(run.config["dataset_name"], **run.problem_settings)
        questions = [problems[i % len(problems)].question for i in range(drawn)]
        how = Sampling(run.config["max_completion_length"], run.config["temperature"], run.config.get("top_p", 1.0))
        self.wordings = set(map(last_wording, sample(self.model, self.tokenizer, questions, how, batch_size=ROWS)))

    @torch.no_grad()
    def perplexity(self, rows: Sequence[Data]) -> float:
        """Of the rows' completions, given their questions; each with the token that ends it."""
        loss, tokens = 0.0, 0
        for begin in range(0, len(rows), ROWS):
            some = rows[begin : begin + ROWS]
            prompts = render_chat(self.tokenizer, [conversation(row["question"]) for row in some])
            prompt_ids = self.tokenizer(prompts, add_special_tokens=False)["input_ids"]
            own_ids = self.tokenizer([row["completion"] for row in some], add_special_tokens=False)["input_ids"]
            ids = [p + c + [self.tokenizer.eos_token_id] for p, c in zip(prompt_ids, own_ids, strict=True)]
            longest = max(map(len, ids))
            input_BT = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
            label_BT = torch.full_like(input_BT, -100)
            for row, (prompt, whole) in enumerate(zip(prompt_ids, ids, strict=True)):
                label_BT[row, len(prompt) : len(whole)] = input_BT[row, len(prompt) : len(whole)]
            count = int((label_BT >= 0).sum())
            loss += count * float(self.model(input_BT, labels=label_BT).loss)
            tokens += count
        return math.exp(loss / tokens) if tokens else math.nan


def last_wording(completion: str) -> str:
    """The wording of a completion's last sentence."""
    return wording("".join(steps_of(completion, "sentence")[-1:]))


def is_accepted(row: Data) -> bool:
    """Whether VerifyRM, where there is one, accepts a rollout."""
    return bool((row.get("score") or 0.0) > THRESHOLD)


def row_of(run: Run, start: Start, rollouts: Sequence[Data], steps: range) -> list[float]:
    """The cells of a block."""
    accepted = [row for row in rollouts if is_accepted(row)]
    asked = [row["counterfactual_score"] > THRESHOLD for row in rollouts if row.get("counterfactual_score") is not None]
    measured = [_last(run.series(key), steps) for key in ("eval/true_accuracy", "eval/reward_model_accuracy")]
    return [
        *measured,
        _mean(row["right"] for row in rollouts),
        _mean(row["right"] for row in rollouts if row["reference_answer"].isalpha()),
        len(accepted) / len(rollouts) if rollouts and rollouts[0].get("score") is not None else math.nan,
        _mean(not row["right"] for row in accepted),
        _mean(asked),
        _mean(last_wording(row["completion"]) not in start.wordings for row in rollouts),
        start.perplexity(rollouts),
        *(_mean(value for step, value in run.series(key) if step in steps) for key in METRICS.values()),
    ]


def _mean(values: Any) -> float:
    values = list(values)
    return fmean(values) if values else math.nan


def _last(series: Sequence[tuple[int, float]], steps: range) -> float:
    return next((value for step, value in reversed(series) if step in steps), math.nan)


def read_aloud(last: Sequence[Data], count: int) -> None:
    """Prints what VerifyRM accepts and the truth does not, by wording, with an example of each."""
    errs = [row for row in last if is_accepted(row) and not row["right"]]
    by_wording: dict[str, list[Data]] = {}
    for row in random.Random(0).sample(errs, min(count, len(errs))):
        by_wording.setdefault(last_wording(row["completion"]), []).append(row)
    for rows in sorted(by_wording.values(), key=len, reverse=True):
        row = rows[-1]
        print(f"{len(rows)} times, {row['verdict']}, for {row['reference_answer']!r}: {row['completion'][-160:]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--blocks", type=int, default=10, help="into how many blocks a run's steps are cut")
    parser.add_argument("--drawn", type=int, default=16_000, help="completions of the start whose wordings are known")
    parser.add_argument("--read", type=int, default=0, help="accepted rollouts of the last block to print, if wrong")
    arguments = parser.parse_args()
    starts: dict[str, Start] = {}
    print(f"| run | steps | {' | '.join((*COLUMNS, *METRICS))} |\n|{'---|' * (2 + len(COLUMNS) + len(METRICS))}")
    for folder in arguments.runs:
        run = read_run(folder)
        name = run.config["model_name_or_path"]
        start = starts[name] = starts.get(name) or Start(run, arguments.drawn)
        kept, rollouts = [row | {"right": right} for row, right in judged(run)], []
        size = -(-kept[-1]["step"] // arguments.blocks)
        for begin in range(1, kept[-1]["step"] + 1, size):
            steps = range(begin, begin + size)
            rollouts = [row for row in kept if row["step"] in steps]
            cells = ["-" if math.isnan(value) else f"{value:.3f}" for value in row_of(run, start, rollouts, steps)]
            print(f"| {folder.parent.name}/{folder.name} | to {steps[-1]} | {' | '.join(cells)} |", flush=True)
        if arguments.read:
            read_aloud(rollouts, arguments.read)


if __name__ == "__main__":
    main()
