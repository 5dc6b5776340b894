"""Low-rank adapters of a reward model, and what they can go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
