"""A whole run from Python: the policy before and after, by the truth that the reward does not see.

python examples/grpo/train.py --arm cooper --steps 40 --output_dir runs/grpo-cooper
"""

import argparse
import json
from pathlib import Path

from cooper_rl import CooperConfig, CooperTrainer, VerifyRM
from cooper_rl.domains import load_problems, truth_of
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.settings.files import EMBEDDED

WORLD = "nano-weekdays"  # sums, word problems and weekdays


def main() -> None:
    """Trains one arm and prints what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arm", default="cooper", choices=["rule", "static", "cooper", "hybrid"])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--heldout", type=int, default=200, help="held-out problems")
    parser.add_argument("--output_dir", default="runs/grpo")
    given = parser.parse_args()
    config = CooperConfig(
        output_dir=given.output_dir,
        arm=given.arm,
        max_steps=given.steps,
        num_generations=8,
        per_device_train_batch_size=64,
        max_completion_length=64,
        learning_rate=2e-4,
        warmup_steps=5,
        reward_threshold=0.5,
        negative_sources={"mined": 3, "perturb": 1},
        replay_per_step=16,
        reward_model_learning_rate=1e-4,
        heldout_steps=0,
        save_strategy="no",
    )
    trainer = CooperTrainer(
        model=str(EMBEDDED[WORLD]["policy"]),
        reward_model=VerifyRM.from_pretrained(str(EMBEDDED[WORLD]["reward_model"])),
        args=config,
        train_dataset=training_rows(load_problems(WORLD, size=2000)),
        heldout=HeldOut(config, load_problems(WORLD, split="test", size=given.heldout), truth_of(WORLD)),
    )
    with trainer.verifier:
        trainer.train()
    show([json.loads(line) for line in (Path(given.output_dir) / "metrics.jsonl").open()])


def show(rows: list[dict[str, float]]) -> None:
    """Prints the reward over the first and last tenth of the steps, and the accuracies before and after."""
    rewards = [row["reward"] for row in rows if "reward" in row]
    tenth = max(1, len(rewards) // 10)
    print(f"reward         {sum(rewards[:tenth]) / tenth:.3f} to {sum(rewards[-tenth:]) / tenth:.3f}")
    for name in ("eval/true_accuracy", "eval/rule_accuracy"):
        measured = [row[name] for row in rows if name in row]
        print(f"{name.removeprefix('eval/'):<14} {measured[0]:.3f} to {measured[-1]:.3f}")


if __name__ == "__main__":
    main()
