"""What a long run drifts to, block by block, in a world whose truth is known.

    python benchmarks/drift.py RUN [RUN ...] --blocks 10 --drawn 16000 --read 200

A row a block of steps:

- true: held-out true accuracy, at the last measurement of the block.
- VerifyRM: its balanced accuracy on held-out triples, at the same.
- right, accepted, wrong among accepted: shares of the block's rollouts that are truly right, that VerifyRM accepts, and
  of the accepted ones that are truly wrong.
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
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer

from cooper_rl.domains.nano.silent import wording
from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.generation import Sampling
from cooper_rl.generation.generator import conversation
from cooper_rl.generation.in_process import render_chat, sample
from cooper_rl.jsonl import whole_records
from cooper_rl.records import THRESHOLD
from cooper_rl.report.runs import Run, read_run
from cooper_rl.settings.files import resolve_model

COLUMNS = ("true", "VerifyRM", "right", "accepted", "wrong among accepted", "both", "new", "perplexity")
METRICS = {"KL": "kl", "entropy": "entropy", "length": "completions/mean_length"}
ROWS = 256  # completions at once
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
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
            logits_BTV = self.model(input_BT).logits[:, :-1]
            loss += float(cross_entropy(logits_BTV.flatten(0, 1), label_BT[:, 1:].flatten(), reduction="sum"))
            tokens += int((label_BT[:, 1:] >= 0).sum())
        return math.exp(loss / tokens) if tokens else math.nan


def last_wording(completion: str) -> str:
    """The wording of a completion's last sentence."""
    return wording(SENTENCE.split(completion.strip())[-1])


def judged_steps(run: Run) -> dict[int, list[Data]]:
    """The rollouts of each kept step, each with `right` for whether it is truly so."""
    truth = truth_of(run.config["dataset_name"])
    if truth is None:
        raise SystemExit(f"{run.path}: the data set {run.config['dataset_name']} has no truth of its own")
    problems = {p.problem_id: p for p in load_problems(run.config["dataset_name"], **run.problem_settings)}
    found = {}
    for path in run.steps_of("rollouts"):
        rows = list(whole_records(path))
        found[int(rows[0]["step"])] = [
            row | {"right": truth(problems[row["problem_id"]], row["completion"])} for row in rows
        ]
    return found


def row_of(run: Run, start: Start, rollouts: Sequence[Data], steps: range) -> list[float]:
    """The cells of a block."""
    accepted = [row for row in rollouts if (row.get("score") or 0.0) > THRESHOLD]
    asked = [row["counterfactual_score"] > THRESHOLD for row in rollouts if row.get("counterfactual_score") is not None]
    measured = [_last(run.series(key), steps) for key in ("eval/true_accuracy", "eval/reward_model_accuracy")]
    return [
        *measured,
        _mean(row["right"] for row in rollouts),
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
    errs = [row for row in last if (row.get("score") or 0.0) > THRESHOLD and not row["right"]]
    some = random.Random(0).sample(errs, min(count, len(errs)))
    examples: Mapping[str, Data] = {last_wording(row["completion"]): row for row in some}
    for text, times in Counter(last_wording(row["completion"]) for row in some).most_common():
        row = examples[text]
        print(f"{times} times, {row['verdict']}, for {row['reference_answer']!r}: {row['completion'][-160:]!r}")


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
        kept, rollouts = judged_steps(run), []
        size = -(-max(kept) // arguments.blocks)
        for begin in range(1, max(kept) + 1, size):
            steps = range(begin, begin + size)
            rollouts = list(chain.from_iterable(rows for step, rows in kept.items() if step in steps))
            cells = ["-" if math.isnan(value) else f"{value:.3f}" for value in row_of(run, start, rollouts, steps)]
            print(f"| {folder.parent.name}/{folder.name} | to {steps[-1]} | {' | '.join(cells)} |", flush=True)
        if arguments.read:
            read_aloud(rollouts, arguments.read)


if __name__ == "__main__":
    main()
