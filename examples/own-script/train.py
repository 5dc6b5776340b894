"""A GRPO script with two reward functions on a CSV file. The lines marked `Cooper` are all that Cooper needs.

python examples/own-script/train.py runs/own-script [resume]
"""

import sys
from pathlib import Path

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from cooper_rl import CooperReward  # Cooper
from cooper_rl.settings.files import EMBEDDED

POLICY = str(EMBEDDED["nano"]["policy"])  # in its place, your model's folder or hub id


def prefer_short(completions: list, **_: object) -> list[float]:
    """Minus the length in hundreds of characters."""
    return [-len(messages[-1]["content"]) / 100 for messages in completions]


def main(output_dir: str, *options: str) -> None:
    """Trains for 20 steps, or goes on from the last checkpoint."""
    dataset = load_dataset("csv", data_files=str(Path(__file__).with_name("problems.csv")), split="train")
    dataset = dataset.map(lambda row: {"prompt": [{"role": "user", "content": row["question"]}]})
    cooper = CooperReward("nano", negative_sources={"mined": 1, "perturb": 1})  # Cooper
    args = GRPOConfig(
        output_dir,
        max_steps=20,
        save_steps=5,
        logging_steps=1,
        learning_rate=1e-4,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=64,
        reward_weights=[1.0, 0.05],
        bf16=False,
        report_to="none",
    )
    trainer = GRPOTrainer(
        POLICY,
        reward_funcs=[cooper, prefer_short],
        args=args,
        train_dataset=dataset,
        callbacks=[cooper.callback],  # Cooper
    )
    trainer.train(resume_from_checkpoint="resume" in options)


if __name__ == "__main__":
    main(*sys.argv[1:])
