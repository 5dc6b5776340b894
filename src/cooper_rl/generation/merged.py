"""Low-rank adapters, added into the weights while a model generates on a CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def adapters_merged(model: Any) -> Iterator[None]:
    """On a CPU a PeftModel computes without its adapters' products here. Afterwards each weight is as before.

    It needs the memory of the adapted weights once more. Other models, other devices and quantised weights are left as
    they are. Call it where no gradient is computed.
    """
    weights = _adapted(model) if model.device.type == "cpu" else []
    if not weights:
        yield
        return
    own = [weight.data for weight in weights]
    frozen = [weight for weight in model.parameters() if not weight.requires_grad]
    try:
        for weight in weights:
            weight.data = weight.data.clone()
        model.merge_adapter()
        for (
            weight
        ) in frozen:  # autocast keeps the 16-bit copies of trainable weights alone; others it makes at each token
            weight.requires_grad_(True)
        yield
    finally:
        for weight in frozen:
            weight.requires_grad_(False)
        torch.clear_autocast_cache()
        model.unmerge_adapter()
        for weight, data in zip(weights, own, strict=True):
            weight.data = data


def _adapted(model: Any) -> list[nn.Parameter]:
    """The weights of the layers that have adapters; none where one of them is not a plain number."""
    if not hasattr(model, "peft_config"):
        return []
    layers = [layer.base_layer for layer in model.modules() if hasattr(layer, "base_layer") and hasattr(layer, "merge")]
    weights = [weight for layer in layers for weight in layer.parameters(recurse=False)]
    return weights if all(weight.is_floating_point() for weight in weights) else []
