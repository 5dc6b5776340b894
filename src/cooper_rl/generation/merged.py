"""Low-rank adapters, added into the weights while a model generates on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def adapters_merged(model: Any) -> Iterator[None]:
    """On a CPU a model with adapters computes without their products here. Afterwards each weight is as before.

    The model is a PeftModel, or one that transformers has loaded from a folder of adapters. It needs the memory of the
    adapted weights once more. Other models, other devices and quantised weights are left as they are. Call it where no
    gradient is computed.
    """
    layers = _adapted(model) if model.device.type == "cpu" else []
    weights = [weight for layer in layers for weight in layer.base_layer.parameters(recurse=False)]
    if not all(weight.is_floating_point() for weight in weights) or not layers:
        yield
        return
    own = [weight.data for weight in weights]
    frozen = [weight for weight in model.parameters() if not weight.requires_grad]
    try:
        for weight in weights:
            weight.data = weight.data.clone()
        for layer in layers:
            layer.merge()
        for (
            weight
        ) in frozen:  # autocast keeps the 16-bit copies of trainable weights alone; others it makes at each token
            weight.requires_grad_(True)
        yield
    finally:
        for weight in frozen:
            weight.requires_grad_(False)
        torch.clear_autocast_cache()
        for layer in layers:
            layer.unmerge()
        for weight, data in zip(weights, own, strict=True):
            weight.data = data


def _adapted(model: nn.Module) -> list[Any]:
    """The layers that have adapters."""
    return [layer for layer in model.modules() if hasattr(layer, "base_layer") and hasattr(layer, "unmerge")]
