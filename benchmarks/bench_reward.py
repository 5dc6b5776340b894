"""A step of an unchanged GRPOTrainer with a CooperReward, against one of CooperTrainer with its lean step off.

Both train the embedded models on the same problems, from the same seeds, in turns that change their order. The figure
is the ratio of the two times of `train()`, and its spread over the turns.

    OMP_NUM_THREADS=1 python benchmarks/bench_reward.py --steps 8 --turns 5
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from cooper_rl import CooperConfig, CooperReward, CooperTrainer
from cooper_rl.domains import load_problems
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.settings.files import EMBEDDED

WORLD = "nano-weekdays"
METHOD: dict[str, Any] = {
    "reward_threshold": 0.5,
    "negative_sources": {"mined": 3, "perturb": 1},
    "replay_per_step": 16,
    "reward_model_learning_rate": 1e-4,
}


class WithoutLeanStep(CooperTrainer):
    """CooperTrainer with TRL's own generation and log-probabilities."""

    _generate_single_turn = GRPOTrainer._generate_single_turn
    _get_per_token_logps_and_entropies = GRPOTrainer._get_per_token_logps_and_entropies


def make(kind: str, folder: Path, steps: int, rows: Any) -> GRPOTrainer:
    """A new trainer of a kind: `reward` or `shell`."""
    sizes: dict[str, Any] = {"max_steps": steps, "num_generations": 8, "per_device_train_batch_size": 64}
    sizes |= {"max_completion_length": 64, "learning_rate": 2e-4, "beta": 0.001, "save_strategy": "no", "bf16": False}
    sizes |= {"logging_steps": 1, "loss_type": "grpo", "use_bias_correction_kl": False, "report_to": "none"}
    sizes |= {"gradient_checkpointing": False, "disable_tqdm": True}
    policy = str(EMBEDDED[WORLD]["policy"])
    if kind == "shell":
        return WithoutLeanStep(policy, WORLD, CooperConfig(str(folder), **METHOD, **sizes), rows)
    cooper = CooperReward(WORLD, **METHOD)
    args = GRPOConfig(str(folder), use_cpu=True, model_init_kwargs={"dtype": "float32"}, **sizes)
    return GRPOTrainer(policy, [cooper], args, rows, callbacks=[cooper.callback])


def seconds(kind: str, steps: int, rows: Any) -> tuple[float, list[float]]:
    """The time of a run, and its rewards by step."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make(kind, Path(folder) / "run", steps, rows)
        trainer.remove_callback(PrinterCallback)
        gc.collect()
        started = time.perf_counter()
        trainer.train()
        took = time.perf_counter() - started
        lines = [json.loads(line) for line in (Path(folder) / "run" / "metrics.jsonl").open()]
    return took, [line["reward"] for line in lines]


def main() -> None:
    """Prints each turn, and the median ratio with its spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    rows = training_rows(load_problems(WORLD, size=2000))
    for kind in ("reward", "shell"):
        seconds(kind, 2, rows)  # warm-up
    ratios = []
    for turn in range(given.turns):
        order = ("reward", "shell") if turn % 2 == 0 else ("shell", "reward")
        found = {kind: seconds(kind, given.steps, rows) for kind in order}
        (reward, one), (shell, other) = found["reward"], found["shell"]
        assert one == other, "the two do not train alike"
        ratios.append(reward / shell)
        print(f"turn {turn}: reward {reward / given.steps:.3f} s a step, shell {shell / given.steps:.3f}", flush=True)
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
    print(f"ratio of reward to shell: median {statistics.median(ratios):.3f}, {spread} over {given.turns} turns")


if __name__ == "__main__":
    main()
