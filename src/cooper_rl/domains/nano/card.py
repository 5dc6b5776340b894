"""The README.md of a nano policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import LlamaForCausalLM

from cooper_rl.domains.nano.world import WAYS
from cooper_rl.domains.nano.worlds import WORLDS


def model_card(recipe: Mapping[str, Any], model: LlamaForCausalLM) -> str:
    """The README.md of the model folder. `recipe` holds the settings that the model was made with."""
    world = WORLDS[recipe["world"]]
    tasks = ", ".join(f"`{task}`" for task in world.tasks)
    ways = ", ".join(f"{way} {share:.0%}" for way, share in WAYS.items())
    shape = model.config
    command = f"python -m cooper_rl.domains.nano.pretrain --config recipes/{recipe['world']}-policy.yaml"
    begin = f"on from `{recipe['start']}`" if recipe["start"] else "from nothing"
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [cooper, reasoning-gym]
---
# The nano policy

A Llama of {model.num_parameters():,} parameters ({shape.num_hidden_layers} layers, hidden size {shape.hidden_size},
vocabulary {shape.vocab_size}, float32), trained {begin}, seed {recipe["seed"]}:
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
