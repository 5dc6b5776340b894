"""A frozen reward model in TRL's own trainer, which pays nothing for what it accepts under a wrong reference too.

python examples/wrong-reference/train.py runs/wrong-reference 40 1
"""

import sys

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from cooper_rl import CooperReward
from cooper_rl.domains import load_problems
from cooper_rl.settings.files import EMBEDDED

POLICY = str(EMBEDDED["nano-weekdays"]["policy"])  # in its place, your model's folder or hub id


def main(output_dir: str, steps: str, references: str) -> None:
    """Trains for so many steps; with 0 references nothing is asked."""
    problems = load_problems("nano-weekdays", size=2000)  # in its place, your rows with a prompt and an answer
    rows = [{"prompt": [{"role": "user", "content": p.question}], "answer": p.reference_answer} for p in problems]
    cooper = CooperReward(
        "nano-weekdays", arm="static", reward_threshold=0.5, counterfactual_references=int(references)
    )
    sizes = {"num_generations": 8, "per_device_train_batch_size": 64, "max_completion_length": 64}
    rates = {"learning_rate": 2e-4, "warmup_steps": 5, "beta": 0.001}
    args = GRPOConfig(output_dir, max_steps=int(steps), bf16=False, logging_steps=1, report_to="none", **sizes, **rates)
    trainer = GRPOTrainer(POLICY, [cooper], args, Dataset.from_list(rows), callbacks=[cooper.callback])
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
