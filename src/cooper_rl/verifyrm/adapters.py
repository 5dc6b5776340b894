"""Low-rank adapters of a reward model, and what they can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from cooper_rl.extras import optional
from cooper_rl.settings.files import ADAPTERS


def is_reward_model(path: str | Path) -> bool:
    """Whether a folder or hub id is a sequence classifier or adapters of one, rather than a causal language model."""
    return Path(path, ADAPTERS).is_dir() or is_classifier(AutoConfig.from_pretrained(path))


def is_classifier(config: Any) -> bool:
    """Whether a model's configuration is that of a sequence classifier."""
    return any("SequenceClassification" in name for name in config.architectures or [])


def adapter_settings(task_type: str, rank: int, alpha: int = 0) -> Any:
    """peft's settings for low-rank adapters in every linear layer. An alpha of 0 means twice the rank.

    Raises:
        BadInputError: peft is not installed.
    """
    peft = optional("peft", extra="peft", needed_by="training low-rank adapters")
    return peft.LoraConfig(task_type=task_type, r=rank, lora_alpha=alpha or 2 * rank, target_modules="all-linear")


@torch.no_grad()  # type: ignore[untyped-decorator]
def round_adapters(model: Any) -> None:
    """Rounds the trained weights of a PeftModel to the nearest bfloat16, in place; they stay float32."""
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.copy_(parameter.bfloat16())


def store_in_bfloat16(file: Path) -> None:
    """Rewrites a safetensors file of float32 in bfloat16, half the size; rounded weights lose nothing."""
    weights = {name: value.bfloat16().contiguous() for name, value in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
