"""A short start on worked solutions: a pretrained model learns how the problems of a generated data set are solved.

    python scripts/fetch_model.py
    python scripts/short_start.py --config recipes/smollm2-start.yaml

The result depends on the seed and on the number of threads. The training is TRL's SFTTrainer, whose settings the
recipe's `trainer` has. `start.json` in the model's folder keeps the recipe, the time and the share of the problems of
split `heldout` that the model solves, by the data set's scorer and by its rule verifier.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

from cooper_rl.domains import find_domain
from cooper_rl.domains.schoolbook import write_closing
from cooper_rl.evaluation.heldout import HeldOut
from cooper_rl.generation import conversation
from cooper_rl.settings.files import ADAPTERS, resolve_model
from cooper_rl.settings.train import TrainerSettings
from cooper_rl.verifiers import RuleVerifier
from cooper_rl.verifyrm.stored import adapter_settings, round_adapters, save_adapters, store_in_bfloat16


@dataclass(frozen=True)
class StartRecipe:
    """The recipe of a short start."""

    model_name_or_path: str
    output_dir: str
    dataset_name: str = "schoolbook"  # a data set whose problems have worked solutions
    problems: int = 960
    seed: int = 0
    heldout: int = 300  # problems that the result is measured on
    max_completion_length: int = 64
    lora_rank: int = 0  # above 0 low-rank adapters are trained; they are kept in a folder of their own and merged
    trainer: dict[str, Any] = field(default_factory=dict)  # further settings of trl.SFTConfig


def read_recipe(path: Path) -> StartRecipe:
    """The recipe in a YAML file."""
    return StartRecipe(**yaml.safe_load(path.read_text()))


def demonstrations(recipe: StartRecipe) -> list[dict[str, Any]]:
    """Problems of split `train` with a worked solution, as SFTTrainer takes them.

    Those of `schoolbook` get a closing sentence.
    """
    rng = random.Random(recipe.seed)
    problems = find_domain(recipe.dataset_name).problems("train", recipe.problems, recipe.seed)
    closes = recipe.dataset_name == "schoolbook"
    solutions = [str(p.metadata["worked_solution"]) + (write_closing(p, rng) if closes else "") for p in problems]
    return [
        {
            "prompt": conversation(problem.question),
            "completion": [{"role": "assistant", "content": solution}],
        }
        for problem, solution in zip(problems, solutions, strict=True)
    ]


def measure(recipe: StartRecipe, model: Any, tokenizer: Any) -> dict[str, float]:
    """True accuracy and rule accuracy, at temperature 1 as in reinforcement learning."""
    world = find_domain(recipe.dataset_name)
    settings = TrainerSettings(
        seed=recipe.seed,
        max_completion_length=recipe.max_completion_length,
        heldout_temperature=1.0,
        heldout_top_p=1.0,
    )
    heldout = HeldOut(settings, world.problems("heldout", recipe.heldout, recipe.seed), world.is_true)
    with RuleVerifier(world.verifier) as verifier:
        return heldout.measure(model, tokenizer, None, verifier)


def saved_and_merged(model: Any, recipe: StartRecipe) -> Any:
    """Writes a PeftModel's adapters, rounded to bfloat16, to their own folder; returns the model with them merged."""
    folder = Path(recipe.output_dir) / ADAPTERS
    round_adapters(model)
    model.peft_config["default"].base_model_name_or_path = recipe.model_name_or_path
    save_adapters(model, folder)
    store_in_bfloat16(folder / "adapter_model.safetensors")
    return model.merge_and_unload()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a short start on worked solutions.")
    parser.add_argument("--config", type=Path, required=True)
    recipe = read_recipe(parser.parse_args().config)
    path = resolve_model(recipe.model_name_or_path, "policy")
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype="float32")
    settings = SFTConfig(
        output_dir=recipe.output_dir,
        seed=recipe.seed,
        use_cpu=not torch.accelerator.is_available(),
        report_to="none",
        save_strategy="no",
        **recipe.trainer,
    )
    trainer = SFTTrainer(
        model,
        settings,
        train_dataset=Dataset.from_list(demonstrations(recipe)),
        processing_class=tokenizer,
        peft_config=adapter_settings("CAUSAL_LM", recipe.lora_rank) if recipe.lora_rank else None,
    )
    started = time.monotonic()
    trainer.train()
    minutes = (time.monotonic() - started) / 60
    trained = trainer.model
    if recipe.lora_rank:
        trained = saved_and_merged(trained, recipe)
    trained.save_pretrained(recipe.output_dir)
    tokenizer.save_pretrained(recipe.output_dir)
    found = {"recipe": asdict(recipe), "minutes": round(minutes, 1), **measure(recipe, trained.eval(), tokenizer)}
    (Path(recipe.output_dir) / "start.json").write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
