"""What a training run will need of a device's memory, by part; `cooper doctor --config R` shows it.

Counted from the models' configurations without loading their weights. Per device for data parallel runs: sharding the
policy or the reward model divides its weights, gradients and optimiser by the number of ranks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cooper_rl.errors import BadInputError, CooperError
from cooper_rl.settings.recipe import resolve_model

FLOAT = 4  # bytes; master weights, gradients and Adam's moments are float32
KEPT_PER_LAYER = 20  # values of the hidden size that a layer keeps for its backward pass, a token (gated MLP included)
LOGITS_COPIES = 3  # logits, their log-softmax and its gradient
PROMPT_TOKENS = 256  # of a prompt, where its data cannot be read here
SAMPLE = 256  # problems whose prompts are counted
GIB = 2**30
MAIN_MEMORY = "main memory"
WARMED_UP = 0.2 * GIB  # thread pools, kernels and the C library's arenas after the first passes; fits the same runs
KEPT_ON_CPU = 0.5  # the C library keeps a part of freed memory; fits the runs in docs/results.md
PASSING = ("policy activations", "key-value cache", "reward model activations")  # one after another


@dataclass(frozen=True)
class Shape:
    """What of a model's configuration decides about memory."""

    parameters: int
    layers: int
    hidden: int
    vocabulary: int
    kv_width: int  # key-value heads x head size


def shape_of(path: str) -> Shape:
    """Sizes of a causal language model from its configuration.

    Raises:
        BadInputError: there is none to be read.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        config = AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: no model configuration to be read: {str(error).splitlines()[0]}") from error
    config = getattr(config, "text_config", None) or config
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    count = sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
    return Shape(count, config.num_hidden_layers, config.hidden_size, config.vocab_size, heads * head)


def estimate(recipe: Mapping[str, Any], *, runtime_bytes: int | None = None) -> dict[str, float]:
    """GiB by part, for one device; see `total` for what of it is there at the same time.

    Args:
        runtime_bytes: what the libraries need besides models; measured in this process by default.
    """
    policy = shape_of(resolve_model(str(recipe.get("model_name_or_path", "nano")), "policy"))
    arm, beta = recipe.get("arm", "cooper"), float(recipe.get("beta", 0.001))
    batch = int(recipe.get("per_device_train_batch_size", 8))
    steps = int(recipe.get("steps_per_generation") or recipe.get("gradient_accumulation_steps") or 1)
    completion = int(recipe.get("max_completion_length", 256))
    tokens = prompt_tokens(recipe) + completion
    trained = _trained(policy, int(recipe.get("lora_rank", 0)))
    activation = 2 if recipe.get("bf16") else FLOAT
    kept = 2 if recipe.get("gradient_checkpointing") else KEPT_PER_LAYER
    parts = {
        "libraries": float(runtime_bytes if runtime_bytes is not None else library_bytes()),
        "policy weights": FLOAT * policy.parameters,
        "policy gradients and optimiser": 3 * FLOAT * trained,
        "reference policy": FLOAT * policy.parameters if beta and trained == policy.parameters else 0,
        "policy activations": batch
        * (
            tokens * policy.layers * policy.hidden * kept * activation
            + LOGITS_COPIES * completion * policy.vocabulary * FLOAT
        ),
        "key-value cache": batch * steps * tokens * policy.layers * 2 * policy.kv_width * activation,
    }
    if arm != "rule" and recipe.get("reward_model_name_or_path"):
        reward = shape_of(resolve_model(str(recipe["reward_model_name_or_path"]), "reward_model"))
        parts["reward model weights"] = FLOAT * reward.parameters
        if arm == "cooper":
            own = _trained(reward, int(recipe.get("reward_model_lora_rank", 0)))
            parts["reward model gradients and optimiser"] = 3 * FLOAT * own
            groups = max(1, batch * steps // int(recipe.get("num_generations", 16)))
            pairs = max(1, groups * int(recipe.get("pairs_per_prompt", 1)))
            at_once = min(pairs, int(recipe.get("reward_model_pairs_per_pass", 0)) or pairs)
            labelled = sum(int(recipe.get(key, 0)) for key in ("rehearsal_per_step", "replay_per_step"))
            sequences = 2 * at_once + labelled * at_once // pairs
            own_tokens = sequences * tokens // 2  # prefixes are shared, completions seldom of full length
            parts["reward model activations"] = own_tokens * reward.layers * reward.hidden * KEPT_PER_LAYER * activation
            assistant = recipe.get("assistant_model")  # without one the reference policy is it, where there is one
            if _asks_in_process(recipe) and (assistant or not parts["reference policy"]):
                shape = shape_of(resolve_model(str(assistant), "policy")) if assistant else policy
                parts["assistant weights"] = FLOAT * shape.parameters
            if recipe.get("anchor_triples"):
                parts["guard's copy (in main memory)"] = 3 * FLOAT * own
    return {name: value / GIB for name, value in parts.items()}


def _asks_in_process(recipe: Mapping[str, Any]) -> bool:
    """Whether an assistant runs in the training process."""
    sources = dict(recipe.get("negative_sources", {"assistant": 1}))
    return bool(sources.get("assistant")) and not recipe.get("assistant_base_url")


def prompt_tokens(recipe: Mapping[str, Any]) -> int:
    """The longest prompt of a sample of the recipe's problems, in tokens of its policy."""
    from transformers import AutoTokenizer

    from cooper_rl.domains import load_problems
    from cooper_rl.generation import conversation

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            resolve_model(str(recipe.get("model_name_or_path", "nano")), "policy")
        )
        name, split = str(recipe.get("dataset_name", "nano")), str(recipe.get("dataset_split", "train"))
        problems = load_problems(name, split=split, size=SAMPLE)
    except (OSError, CooperError):
        return PROMPT_TOKENS
    system = recipe.get("system_prompt")
    texts = [
        tokenizer.apply_chat_template(conversation(p.question, system), add_generation_prompt=True, tokenize=False)
        for p in problems
    ]
    return max(len(ids) for ids in tokenizer(texts)["input_ids"])


def total(parts: Mapping[str, float], kept: float = 0.0) -> float:
    """The peak: what stays, and the largest of the parts that come one after another.

    Args:
        kept: share of the other passing parts that is not given back; `KEPT_ON_CPU` for a process without accelerator.
    """
    passing = sorted(size for name, size in parts.items() if name in PASSING)
    return sum(parts.values()) - (1 - kept) * sum(passing[:-1])


def _trained(shape: Shape, lora_rank: int) -> int:
    """How many parameters an optimiser holds; adapters: rank x (in + out) of a layer's seven matrices, roughly."""
    return 14 * shape.layers * shape.hidden * lora_rank if lora_rank else shape.parameters


def library_bytes() -> int:
    """What this process holds once the libraries of training are imported, and what they set up when they are used."""
    import cooper_rl.engines.trl.run  # noqa: F401

    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") + int(WARMED_UP)


def available() -> tuple[str, float]:
    """The device that a run here would use, and its memory in GiB."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name(0), torch.cuda.get_device_properties(0).total_memory / GIB
    return MAIN_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB
