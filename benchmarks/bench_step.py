"""A Cooper step against one of TRL's own GRPOTrainer: same policy, prompts and batch, a frozen reward model as reward.

    python benchmarks/bench_step.py
    python benchmarks/bench_step.py --config recipes/smollm2.yaml --steps 4

Both run in this process, turn by turn; what is compared is the time from one step's begin to the next one's. Cooper's
step has more in it: the rule verifier, rollouts on disk, stage 2 with mined and perturbed negatives. Target: 1.25.
`--setting KEY=VALUE ...` runs Cooper with these settings against Cooper without, in place of TRL:

    python benchmarks/bench_step.py --setting credit=first_error
    python benchmarks/bench_step.py --arm static --setting counterfactual_references=0

Targets: 1.05 for a credit of steps; at least 0.87 without wrong references, so that these cost at most 1.15 times.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import PrinterCallback, Trainer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from cooper_rl.domains import load_problems
from cooper_rl.engines.config import CooperConfig
from cooper_rl.engines.loading import load_labelled, load_reward_model
from cooper_rl.engines.trl.cooper_trainer import CooperTrainer
from cooper_rl.engines.trl.rows import training_rows
from cooper_rl.settings.files import resolve_model
from cooper_rl.settings.recipe import load_recipe
from cooper_rl.settings.train import TrainRecipe, TrainSettings
from cooper_rl.verifyrm.stored import adapter_settings

Data = dict[str, Any]


class StepTimes(TrainerCallback):
    """When each step began."""

    def __init__(self) -> None:
        self.begins: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.begins.append(time.perf_counter())


def step_seconds(trainer: Trainer) -> list[float]:
    """Trains; the time of each step but the first, which warms up."""
    times = StepTimes()
    trainer.add_callback(times)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return [b - a for a, b in zip(times.begins[1:], times.begins[2:], strict=False)]


def settings(recipe: Data, steps: int, folder: str) -> Data:
    """A recipe's settings of trainer and method, without held-out measurements and checkpoints."""
    left_out = {field.name for field in fields(TrainRecipe)} | {"save_steps", "heldout_steps"}
    kept = {k: v for k, v in recipe.items() if k not in left_out}
    changed = {"output_dir": folder, "max_steps": steps, "save_strategy": "no", "report_to": "none"}
    return {**kept, **changed, "disable_tqdm": True}


def trl_settings(recipe: Data, steps: int, folder: str) -> GRPOConfig:
    """The same for TRL alone: those that it knows."""
    ours = set(CooperConfig.__dataclass_fields__) - set(GRPOConfig.__dataclass_fields__)
    kept = {k: v for k, v in settings(recipe, steps, folder).items() if k not in ours}
    return GRPOConfig(
        **{"bf16": False, **kept},
        loss_type="grpo",
        use_bias_correction_kl=False,
        gradient_checkpointing=False,
        use_cpu=not torch.accelerator.is_available(),
        logging_steps=1,
    )


def adapters_of(named: TrainRecipe) -> Any:
    """The policy's adapters, where the recipe trains these alone."""
    return adapter_settings("CAUSAL_LM", named.lora_rank, named.lora_alpha) if named.lora_rank else None


def cooper(recipe: Data, rows: Any, steps: int, folder: str, changed: Data | None = None) -> list[float]:
    """Step times of Cooper, with the recipe's settings or changed ones."""
    named = TrainSettings.from_recipe(recipe)
    config = CooperConfig(**settings({**recipe, **(changed or {})}, steps, folder))
    rehearsal, anchors = load_labelled(named, named)
    policy, reward_model = resolve_model(named.model_name_or_path, "policy"), load_reward_model(named, named)
    data = {"rehearsal": rehearsal, "anchors": anchors}
    trainer = CooperTrainer(policy, reward_model, config, rows, **data, peft_config=adapters_of(named))
    with trainer.verifier:
        return step_seconds(trainer)


def plain(recipe: Data, rows: Any, steps: int, folder: str) -> list[float]:
    """Step times of TRL alone, with the same weights as a frozen reward model on prompt and completion."""
    named = TrainSettings.from_recipe(recipe)
    reward_model: Any = load_reward_model(named, named)
    trainer = GRPOTrainer(
        resolve_model(named.model_name_or_path, "policy"),
        reward_funcs=reward_model.model,
        reward_processing_classes=reward_model.tokenizer,
        args=trl_settings(recipe, steps, folder),
        train_dataset=rows,
        peft_config=adapters_of(named),
    )
    return step_seconds(trainer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("recipes/quickstart.yaml"))
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--arm", default="cooper")
    parser.add_argument("--setting", nargs="+", default=[], metavar="KEY=VALUE", help="settings, as in `cooper train`")
    arguments = parser.parse_args()
    recipe = {**load_recipe(arguments.config), "arm": arguments.arm}
    rows = training_rows(load_problems(recipe["dataset_name"], size=1000))
    arms: dict[str, Callable[..., list[float]]] = {"cooper": cooper, "trl": plain}
    ratios: dict[tuple[str, str], list[float]] = {("cooper", "trl"): []}
    if arguments.setting:
        changed = {key: yaml.safe_load(value) for key, _, value in (each.partition("=") for each in arguments.setting)}
        arms, ratios = {"cooper": cooper, "changed": partial(cooper, changed=changed)}, {("changed", "cooper"): []}
    for turn in range(arguments.turns):
        medians = {}
        for name, run in sorted(arms.items(), reverse=bool(turn % 2)):
            with tempfile.TemporaryDirectory() as folder:
                medians[name] = statistics.median(run(recipe, rows, arguments.steps, folder))
        for (name, other), found in ratios.items():
            found.append(medians[name] / medians[other])
        print(f"turn {turn}:", ", ".join(f"{name} {seconds:.3f} s" for name, seconds in medians.items()))
    for (name, other), found in ratios.items():
        spread = f"{min(found):.3f} to {max(found):.3f}"
        print(f"ratio of {name} to {other}: median {statistics.median(found):.3f}, {spread} over {len(found)} turns")


if __name__ == "__main__":
    main()
