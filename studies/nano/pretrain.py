"""Makes a nano policy from scratch: a byte-level BPE tokenizer, then next-token training on demonstrations.

`python -m studies.nano.pretrain --config recipes/nano-policy.yaml` writes the model folder.
The result depends on the seed alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from cooper_rl.domains.nano import WORLDS
from cooper_rl.domains.nano.demonstrations import WAYS
from cooper_rl.settings.files import resolve_model
from studies.nano.training import TEMPLATE_TAGS, batches, cosine, encode, optimize, train_tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PretrainConfig:
    """The recipe of the nano policy."""

    output_dir: str
    world: str = "nano"
    start: str | None = None  # the policy to start from, with its tokenizer and sizes: a folder, or nano
    seed: int = 0
    demonstrations: int = 250_000
    problems: int = 120_000
    vocabulary: int = 1024
    hidden_size: int = 128
    intermediate_size: int = 384
    layers: int = 4
    heads: int = 4
    steps_only: float = 0.6  # the first share of training has worked solutions only; then come all ways of answering
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warmup_steps: int = 200
    batch_tokens: int = 2048
    habits: int = 20_000  # demonstrations of a short last part, at a tenth of the learning rate
    blank: float = 0.1  # share of the last part's demonstrations without an answer, since real models omit it too


def demonstrations(config: PretrainConfig) -> list[tuple[str, str]]:
    """(question, completion) pairs in the order of training. Problems are repeated with other ways and forms."""
    problems = WORLDS[config.world].problems("train", config.problems, config.seed)
    rng = random.Random(config.seed)
    pairs = []
    for index in range(config.demonstrations):
        problem = problems[index % len(problems)]
        way = "steps" if index < config.steps_only * config.demonstrations else None
        pairs.append((problem.question, WORLDS[config.world].write(problem, rng, way)))
    return pairs


def habit_demonstrations(config: PretrainConfig) -> list[tuple[str, str]]:
    """(question, completion) pairs of the last part of training."""
    problems = WORLDS[config.world].problems("train", config.habits, config.seed + 1)
    rng = random.Random(config.seed + 1)
    ways = ["blank" if rng.random() < config.blank else None for _ in problems]
    return [(p.question, WORLDS[config.world].write(p, rng, way)) for p, way in zip(problems, ways, strict=True)]


def pretrain(config: PretrainConfig) -> None:
    """Trains and saves the nano policy in `output_dir`, with the recipe and a fingerprint of the weights.

    The policy before its last part of training is saved in `output_dir`/backbone, from which VerifyRM is made.
    """
    torch.manual_seed(config.seed)
    pairs = demonstrations(config)
    model, tokenizer = begin(config, pairs)
    examples = encode(tokenizer, pairs)
    rng = random.Random(config.seed)
    turn = int(config.steps_only * len(examples))
    schedule = [
        batch
        for part in (examples[:turn], examples[turn:])
        if part
        for batch in batches(part, config.batch_tokens, tokenizer.pad_token_id, rng)
    ]
    logger.info("%d parameters, %d steps", sum(p.numel() for p in model.parameters()), len(schedule))
    optimize(
        model,
        schedule,
        cosine(len(schedule), config.warmup_steps),
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
    )
    save(model, tokenizer, config, Path(config.output_dir) / "backbone")
    learn_habits(model, tokenizer, config)
    save(model, tokenizer, config, Path(config.output_dir))


def begin(config: PretrainConfig, pairs: list[tuple[str, str]]) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The policy to start from, or a new one whose tokenizer is trained on the demonstrations."""
    if config.start:
        folder = resolve_model(config.start, "policy")
        return LlamaForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    template_texts = ["".join(f"{tag}\n" for tag in TEMPLATE_TAGS)]
    tokenizer = train_tokenizer(
        [f"{q} {c}" for q, c in [*pairs[:10_000], *pairs[-10_000:]]] + template_texts, config.vocabulary
    )
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(shape), tokenizer


def learn_habits(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, config: PretrainConfig) -> None:
    """Trains the last part, with an optimiser of its own."""
    examples = encode(tokenizer, habit_demonstrations(config))
    rng = random.Random(config.seed + 1)
    schedule = list(batches(examples, config.batch_tokens, tokenizer.pad_token_id, rng))
    optimize(
        model,
        schedule,
        lambda step: 0.1,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
    )


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, config: PretrainConfig, folder: Path) -> None:
    """Writes the model folder. `recipe.json` in it has the settings and the SHA-256 of the weights."""
    model.generation_config.update(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    settings = {key: value for key, value in asdict(config).items() if key != "output_dir"}
    (folder / "recipe.json").write_text(json.dumps({"recipe": settings, "sha256": digest}, indent=2) + "\n")
    (folder / "README.md").write_text(model_card(settings, model))


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the nano policy.")
    parser.add_argument("--config", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    pretrain(PretrainConfig(**yaml.safe_load(arguments.config.read_text())))


if __name__ == "__main__":
    main()


def model_card(recipe: Mapping[str, Any], model: LlamaForCausalLM) -> str:
    """The README.md of the model folder. `recipe` holds the settings that the model was made with."""
    world = WORLDS[recipe["world"]]
    tasks = ", ".join(f"`{task}`" for task in world.tasks)
    ways = ", ".join(f"{way} {share:.0%}" for way, share in WAYS.items())
    shape = model.config
    command = f"python -m studies.nano.pretrain --config recipes/{recipe['world']}-policy.yaml"
    origin = f"on from `{recipe['start']}`" if recipe["start"] else "from nothing"
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [cooper, reasoning-gym]
---
# The nano policy

A Llama of {model.num_parameters():,} parameters ({shape.num_hidden_layers} layers, hidden size {shape.hidden_size},
vocabulary {shape.vocab_size}, float32), trained {origin}, seed {recipe["seed"]}:
`{command}`. It exists so that reinforcement
learning can be watched on a CPU within minutes.

## Input
`<|user|>question<|assistant|>completion<|end|>`, by the tokenizer's chat template. Numbers are read digit by digit.

## Data
{recipe["demonstrations"]:,} demonstrations on {recipe["problems"]:,} problems of reasoning-gym's generators
({tasks}). The first {recipe["steps_only"]:.0%} are worked solutions;
the rest mix ways of answering ({ways})
and {len(world.forms)} forms of stating the answer. In a last part of {recipe["habits"]:,}
demonstrations {recipe["blank"]:.0%} end without an answer.

## Limits
It knows small problems of that kind and nothing else. It is often wrong on purpose: it guesses, skips steps and
hedges, so that there is something to select. Its accuracy is in docs/results.md.
"""
