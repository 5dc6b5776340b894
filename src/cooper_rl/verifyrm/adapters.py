"""Low-rank adapters of a reward model, and what they can go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig

from cooper_rl.parts import optional
from cooper_rl.settings.files import is_adapters


def is_reward_model(path: str | Path) -> bool:
    """Whether a folder or hub id is a sequence classifier or adapters of one, rather than a causal language model."""
    return is_adapters(path) or is_classifier(AutoConfig.from_pretrained(path))


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


def save_adapters(model: Any, folder: Path) -> None:
    """Writes a PeftModel's adapters, without the form of a model card that peft adds."""
    model.save_pretrained(folder, save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)


@torch.no_grad()  # type: ignore[untyped-decorator]
def set_difference(model: Any, trained: Mapping[str, Tensor]) -> None:
    """Sets a PeftModel's adapters to what training has changed in each linear layer, as well as their rank allows.

    That is the sum of the largest singular values' parts (Eckart and Young). The head is copied; all other weights
    stay those of the base.

    Args:
        model: the base with new adapters.
        trained: the weights after training, by their names without adapters.
    """
    for name, layer in model.base_model.model.named_modules():
        if hasattr(layer, "lora_A"):
            change = trained[f"{name}.weight"] - layer.base_layer.weight
            u, values, v = torch.linalg.svd(change, full_matrices=False)
            down, up = layer.lora_A["default"].weight, layer.lora_B["default"].weight
            root = (values[: len(down)] / layer.scaling["default"]).sqrt()
            down.zero_()[: len(root)] = root[:, None] * v[: len(root)]
            up.zero_()[:, : len(root)] = u[:, : len(root)] * root
        elif hasattr(layer, "modules_to_save"):
            layer.modules_to_save["default"].weight.copy_(trained[f"{name}.weight"])


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
