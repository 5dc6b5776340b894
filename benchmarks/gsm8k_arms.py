"""Base model, rule, static, cooper and hybrid on GSM8K: test accuracy, and where a step's time goes.

    COOPER_DATA_DIR=<folder of local copies> python benchmarks/gsm8k_arms.py --output runs/gsm8k

Trains each arm of a recipe one after the other (`cooper compare`), samples the base model and each arm's last policy on
test problems (`cooper eval`), and prints the tables last; all of it is kept in the output folder. Any key of the recipe
can follow as `--key value`. Started again it goes on where it was cut off.

A share of the limit is what the same machine does at best, measured in the same run:

- generating: the weights, float32, are read from memory once for each token of all sequences together. The limit is a
  large copy's bytes a second; keys and values are not counted, and the reference policy's pass is part of the time.
- the policy's update: 6 operations a weight and token (recomputed activations are not counted). The limit is the best
  matrix product in the recipe's precision.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from bench_tokens import matmul_limit
from transformers import AutoConfig

from cooper_rl.checkpoints import last_checkpoint
from cooper_rl.cli.compare import compare
from cooper_rl.console import print_rows
from cooper_rl.distributed import own_device
from cooper_rl.doctor.memory import FLOAT, shape_of
from cooper_rl.evaluation.benchmarks import RESULTS
from cooper_rl.report.runs import Run, read_run
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.recipe import load_recipe, parse_overrides

STAGES = ("generate", "score", "policy", "pairs", "reward_model", "guard")


def copy_limit(device: torch.device, seconds: float = 1.0) -> float:
    """The best bytes a second, read and written, of a large copy."""
    source = torch.ones(2**28 if device.type != "cpu" else 2**26, device=device)
    target = torch.empty_like(source)
    best, until = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        target.copy_(source)
        if device.type != "cpu":
            torch.accelerator.synchronize()
        best = max(best, 2 * source.numel() * source.element_size() / (time.perf_counter() - started))
    return best


def multiplied(policy: str) -> int:
    """Weights of a causal language model that a token is multiplied with: a tied embedding is its head, another only
    looked up."""
    shape = shape_of(policy)
    tied = AutoConfig.from_pretrained(policy).tie_word_embeddings
    return shape.parameters - (0 if tied else shape.vocabulary * shape.hidden)


def median(run: Run, key: str) -> float:
    """Of a metric's values, the first step left out: memory is found, kernels are made."""
    values = run.values(key)
    return statistics.median(values[1:] or values) if values else 0.0


def step_row(run: Run, limits: dict[str, float]) -> list[str]:
    """Where a run's steps spent their time, and what share of the machine's limits that is."""
    weights = multiplied(resolve_model(str(run.config["model_name_or_path"]), "policy"))
    per_step = int(run.config["per_device_train_batch_size"]) * int(run.config.get("gradient_accumulation_steps", 1))
    seen = run.values("num_tokens")
    tokens = statistics.median(b - a for a, b in zip([0.0, *seen], seen, strict=False))
    seconds = {stage: median(run, f"time/{stage}_seconds") for stage in STAGES}
    generated = per_step * median(run, "completions/mean_length") / seconds["generate"]
    trained = tokens / seconds["policy"]
    return [
        run.arm,
        f"{sum(seconds.values()):.2f}",
        *(f"{value:.2f}" if value else "-" for value in seconds.values()),
        f"{median(run, 'memory/peak_gigabytes'):.1f}",
        f"{generated:,.0f} ({generated * FLOAT * weights / per_step / limits['bytes']:.1%})",
        f"{trained:,.0f} ({trained * 6 * weights / limits['operations']:.1%})",
    ]


def span(figure: dict[str, float], sign: str = "") -> str:
    """An interval in words."""
    return f"{figure['low']:{sign}.3f} to {figure['high']:{sign}.3f}"


def accuracy_rows(folders: Sequence[Path]) -> list[list[str]]:
    """GSM8K's figures of each evaluation, the first being the base's."""
    rows = [["policy", "avg@k", "95 %", "less base", "95 %", "p"]]
    for folder in folders:
        found = json.loads((folder / RESULTS).read_text())["benchmarks"]["gsm8k"]
        average, other = found["avg"], found.get("against")
        row = [folder.name, f"{average['mean']:.3f}", span(average)]
        if other:
            row += [f"{other['difference']:+.3f}", span(other, "+"), f"{other['p_value']:.3f}"]
        rows.append(row + [""] * (len(rows[0]) - len(row)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--config", type=Path, default=Path("recipes/qwen2.5-coder-0.5b.yaml"))
    parser.add_argument("--output", type=Path, default=Path("runs/gsm8k"))
    parser.add_argument("--arms", default="rule,static,cooper,hybrid", help="comma-separated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, help="test problems; all by default")
    parser.add_argument("--num_samples", type=int, default=4, help="of each test problem")
    parser.add_argument("--max_new_tokens", type=int, default=384)
    arguments, keys = parser.parse_known_args()
    arms, runs = arguments.arms.split(","), arguments.output / "arms"
    base = arguments.output / "eval" / "base"

    def evaluate(folder: Path, policy: str) -> None:  # a process of its own, so that its memory is free again
        command = [sys.executable, "-m", "cooper_rl.cli", "eval", "--model", policy, "--benchmarks", "gsm8k"]
        command += ["--output", str(folder), "--num_samples", str(arguments.num_samples), "--resume"]
        command += ["--max_new_tokens", str(arguments.max_new_tokens)]
        command += ["--size", str(arguments.size)] if arguments.size else []
        command += [] if folder == base else ["--against", str(base)]
        if subprocess.run(command).returncode:
            sys.exit(f"cooper eval of {policy} failed")

    evaluate(base, resolve_model(load_recipe(arguments.config, keys)["model_name_or_path"], "policy"))
    compare(arguments.config, parse_overrides(keys), arms=arms, seeds=[arguments.seed], output_dir=runs, jobs=1)
    found = [read_run(runs / f"{arm}-seed{arguments.seed}") for arm in arms]
    for run in found:
        evaluate(base.with_name(run.arm), str(last_checkpoint(run.path)))

    device = own_device()
    precision = torch.bfloat16 if found[0].config.get("bf16") else torch.float32
    limits = {"bytes": copy_limit(device), "operations": matmul_limit(device=device, dtype=precision)}
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
    print(f"{name}: {limits['bytes'] / 1e9:,.0f} GB/s, {limits['operations'] / 1e12:,.2f} TFLOP/s in {precision}")
    header = ["arm", "seconds a step", *STAGES, "peak GB", "generated a second", "trained on a second"]
    print_rows([header, *(step_row(run, limits) for run in found)])
    print_rows(accuracy_rows([base, *(base.with_name(arm) for arm in arms)]))


if __name__ == "__main__":
    main()
