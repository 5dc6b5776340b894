"""A step of an unchanged GRPOTrainer with a CooperReward, against one of CooperTrainer with its lean step off.

Both train the embedded models on the same problems, from the same seeds, in turns that change their order. The figure
is the ratio of the two times from the second step's begin to the last one's, and its spread over the turns. Processor
time of this process is given beside the time on the clock, which other work on the machine changes.

    OMP_NUM_THREADS=1 python benchmarks/bench_reward.py --steps 9 --turns 6
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

from transformers import PrinterCallback, TrainerCallback
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


class StepTimes(TrainerCallback):
    """When each step began."""

    def __init__(self) -> None:
        self.begins: list[tuple[float, float]] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.begins.append((time.perf_counter(), time.process_time()))

    def seconds(self) -> tuple[float, float]:
        """Of a step, from the second one on: on the clock, and of the processor."""
        first, last, count = self.begins[1], self.begins[-1], len(self.begins) - 2
        return (last[0] - first[0]) / count, (last[1] - first[1]) / count


def measure(kind: str, steps: int, rows: Any) -> tuple[tuple[float, float], list[float]]:
    """The two times of a step, and the rewards by step."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = make(kind, Path(folder) / "run", steps, rows)
        trainer.remove_callback(PrinterCallback)
        times = StepTimes()
        trainer.add_callback(times)
        gc.collect()
        trainer.train()
        lines = [json.loads(line) for line in (Path(folder) / "run" / "metrics.jsonl").open()]
    return times.seconds(), [line["reward"] for line in lines]


def main() -> None:
    """Prints each turn, and the median ratio with its spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--turns", type=int, default=6)
    given = parser.parse_args()
    rows = training_rows(load_problems(WORLD, size=2000))
    for kind in ("reward", "shell"):
        measure(kind, 3, rows)  # warm-up
    ratios: list[tuple[float, float]] = []
    for turn in range(given.turns):
        order = ("reward", "shell") if turn % 2 == 0 else ("shell", "reward")
        found = {kind: measure(kind, given.steps, rows) for kind in order}
        (reward, one), (shell, other) = found["reward"], found["shell"]
        assert one == other, "the two do not train alike"
        ratios.append((reward[0] / shell[0], reward[1] / shell[1]))
        print(f"turn {turn}: seconds of a step (clock, processor): reward {reward}, shell {shell}", flush=True)
    for name, values in zip(("clock", "processor"), zip(*ratios, strict=True), strict=True):
        spread = f"{min(values):.3f} to {max(values):.3f}"
        print(f"reward / shell, {name}: median {statistics.median(values):.3f}, {spread} over {given.turns} turns")


if __name__ == "__main__":
    main()
