"""VerifyRM's scoring and training in tokens a second, as a share of this machine's matrix-multiply limit.

    python benchmarks/bench_tokens.py [--model FOLDER] [--triples 1024] [--steps 12] [--bf16]

The limit is the best rate of a float32 matrix product in the same run. A token costs 2 operations a weight of the
backbone (embeddings apart) to score and 6 to train; attention is left out. Scoring counts every token of every triple,
though a question's shared prefix is computed once: its share can be above what was multiplied. Training is timed from
the end of the first step, without the Trainer's start, which collects garbage for a third of a second whatever the
number of steps; with each form of AdamW, in turn. `--bf16` trains under autocast, with the limit still that of float32.
`--operations` shows instead what share of the time each operation of torch takes, which other work on the machine
changes little.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from cooper_rl.records import LabelledCompletion
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.verifyrm import VerifyRM
from cooper_rl.verifyrm.rm_trainer import RewardModelTrainer

OPTIMS = ("adamw_torch_fused", "adamw_torch")


def matmul_limit(seconds: float = 2.0, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> float:
    """The best operations a second of an n x n product."""
    best, on_cpu = 0.0, torch.device(device).type == "cpu"
    sizes = (512, 1024, 2048) if on_cpu else (2048, 4096, 8192)
    for n in sizes:
        a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
        until = time.perf_counter() + seconds / len(sizes)
        while time.perf_counter() < until:
            started = time.perf_counter()
            a @ b
            if not on_cpu:
                torch.accelerator.synchronize()
            best = max(best, 2 * n**3 / (time.perf_counter() - started))
    return best


def weights_of(model: VerifyRM) -> int:
    """Weights that every token is multiplied with."""
    embedding = model.model.get_input_embeddings().weight
    return sum(p.numel() for p in model.model.parameters()) - embedding.numel()


def note_step(ends: list[float], **told: object) -> None:
    """Keeps when each step ended."""
    if "completed" in told:
        ends.append(time.perf_counter())


def show_operations(what: str, work: Callable[[], object]) -> None:
    """Prints the shares of the operations that take most of the time."""
    with profile(activities=[ProfilerActivity.CPU]) as found:
        work()
    rows = sorted(found.key_averages(), key=lambda row: -row.self_cpu_time_total)
    everything = sum(row.self_cpu_time_total for row in rows)
    for row in rows[:12]:
        print(f"{what}: {row.self_cpu_time_total / everything:6.1%}  {row.key}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="nano", help="a VerifyRM")
    parser.add_argument("--triples", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--operations", action="store_true")
    arguments = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1]))  # where studies is
    from studies.nano.triples import written_triples

    torch.manual_seed(0)
    model = VerifyRM.from_pretrained(arguments.model)
    weights, limit = weights_of(model), matmul_limit()
    print(
        f"{weights:,} weights besides embeddings; matrix products {limit / 1e9:.0f} GFLOP/s, "
        f"{torch.get_num_threads()} threads"
    )
    triples = [
        LabelledCompletion(t["question"], t["reference"], t["completion"], t["correct"])
        for t in written_triples("train", arguments.triples, 0)
    ]
    lengths = [len(ids) for ids in model.encode(triples)]
    padded = max(lengths) * len(lengths)
    model.score_records(triples[:64])
    if arguments.operations:
        show_operations("score", partial(model.score_records, triples))
        with tempfile.TemporaryDirectory() as folder:
            own: dict[str, Any] = {"per_device_train_batch_size": 32, "max_steps": arguments.steps}
            config = RewardModelTrainConfig(arguments.model, ["-"], folder, bf16=arguments.bf16, **own)
            show_operations("train", RewardModelTrainer(model, triples, [], config).train)
        return
    rates: dict[str, list[float]] = {"score": [], **{f"train, {optim}": [] for optim in OPTIMS}}
    for turn in range(-1, arguments.turns):  # the first does not count: memory is found, kernels are made
        started = time.perf_counter()
        model.score_records(triples)
        rates["score"].append(sum(lengths) / (time.perf_counter() - started))
        for optim in OPTIMS if turn % 2 else OPTIMS[::-1]:
            with tempfile.TemporaryDirectory() as folder:
                config = RewardModelTrainConfig(
                    arguments.model,
                    ["-"],
                    folder,
                    per_device_train_batch_size=32,
                    max_steps=arguments.steps,
                    seed=turn + 1,
                    optim=optim,
                    bf16=arguments.bf16,
                )
                ends: list[float] = []
                trainer = RewardModelTrainer(model, triples, [], config, progress=partial(note_step, ends))
                seen = sum(lengths[i] for rows in list(trainer.buckets)[1 : arguments.steps] for i in rows)
                trainer.train()
                rates[f"train, {optim}"].append(seen / (ends[-1] - ends[0]))
        model.model.eval()
    rates = {name: found[1:] for name, found in rates.items()}
    for name, found in rates.items():
        operations = 2 if name == "score" else 6
        share = [rate * operations * weights / limit for rate in found]
        print(
            f"{name}: median {statistics.median(found):,.0f} tokens a second, "
            f"{statistics.median(share):.1%} of the limit ({min(share):.1%} to {max(share):.1%}, {len(share)} turns)"
        )
    fused, plain = (rates[f"train, {optim}"] for optim in OPTIMS)
    ratios = [a / b for a, b in zip(fused, plain, strict=True)]
    print(f"{OPTIMS[0]} / {OPTIMS[1]}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"of {padded:,} tokens padded to one length {sum(lengths):,} are there")


if __name__ == "__main__":
    main()
