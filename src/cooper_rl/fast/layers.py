"""Less work inside a model's layers: short attention, the last layer at the last token only, adapters merged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from cooper_rl.fast import is_on

# With plain products SmolLM2-135M decodes 32 rows in 0.73 of the time (benchmarks/bench_attention.py). From about 200
# keys on the fused kernel is quicker.
MAX_KEYS = 192
OTHERS = ("position_bias", "cache", "softcap", "output_attentions")  # what only transformers' own function knows
# Kinds whose layers end with `x = x + self_attn.o_proj(...)` and `x = x + mlp(...)`, perhaps with norms between.
KNOWN = {"llama", "mistral", "olmo2", "qwen2", "qwen3"}


def use_short_attention() -> None:
    """From now on the models of this process whose attention is `sdpa` take `short_attention`."""
    if is_on():
        ALL_ATTENTION_FUNCTIONS["sdpa"] = short_attention


def short_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention as transformers' models call it, (B, T, H, D). Whatever is not short goes to torch's fused kernel.

    It is short in 16 bits on a CPU: for one new token, where the fused kernel takes long, and for short gradients. The
    products and the softmax are in float32, the result has 16 bits: the type of autocast, else of the query.

    Args:
        query: (B, H, T, D).
        key: (B, K, L, D), where H is a multiple of K.
        value: as the key.
        attention_mask: true, or 0, where a query sees a key; broadcasts to (B, H, T, L).
    """
    B, H, T, D = query.shape
    K, L = key.shape[1:3]
    one = T == 1
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else query.dtype
    if (
        query.device.type != "cpu"
        or dtype not in (torch.bfloat16, torch.float16)
        or L > MAX_KEYS
        or not (one or query.requires_grad)
        or (attention_mask is None and not one)
        or (attention_mask is not None and attention_mask.shape[1] != 1)
        or dropout > 0
        or any(others.get(name) is not None for name in OTHERS)
    ):
        return sdpa_attention_forward(  # type: ignore[no-any-return]
            module, query, key, value, attention_mask, dropout, scaling, is_causal, **others
        )
    with torch.autocast("cpu", enabled=False):
        query_BKGTD = query.float().reshape(B, K, H // K * T, D) * (D**-0.5 if scaling is None else scaling)
        scores = (query_BKGTD @ key.float().transpose(2, 3)).view(B, K, H // K, T, L)
        if attention_mask is not None:
            mask = attention_mask[:, :, None, :, :L]
            seen = mask if mask.dtype == torch.bool else mask == 0
            scores = scores.masked_fill(~seen, torch.finfo(torch.float32).min)
        shares = scores.softmax(-1).view(B, K, H // K * T, L)
        mixed = (shares @ value.float()).view(B, H, T, D)
    return mixed.to(dtype).transpose(1, 2).contiguous(), None


@contextmanager
def only_last(model: nn.Module, last_B: Tensor) -> Iterator[None]:
    """Within this context the model's outputs are right at the last token of each row, and wrong at the others.

    A score is read from the last token, so the last layer need not transform the others behind its attention. This
    leaves out about three quarters of that layer's matrix products, forward and backward: a fifth of all of them in a
    model of four layers, and a fortieth in one of thirty.

    The last layer's `o_proj` and `mlp` get one token of each row, (B, 1, H). What they return is added to the hidden
    states of all tokens, (B, T, H), so that the shapes stay, and the sum is right at that token. Models of another kind
    compute everything. So do models in training mode, which may compute a layer again in the backward pass.

    Args:
        last_B: the place of each row's last token.
    """

    def choose(_: nn.Module, inputs: tuple[Tensor]) -> Tensor:
        (hidden_B_T_H,) = inputs
        return hidden_B_T_H.gather(1, last_B[:, None, None].expand(-1, 1, hidden_B_T_H.shape[2]))

    handles = []
    if is_on() and not model.training and model.config.model_type in KNOWN:
        layer = model.base_model.layers[-1]
        handles = [part.register_forward_pre_hook(choose) for part in (layer.self_attn.o_proj, layer.mlp)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def merging_adapters(model: Any) -> Iterator[None]:
    """Low-rank adapters are added into the weights in this context. Afterwards each weight is as before.

    The model is a PeftModel, or one that transformers has loaded from a folder of adapters. It needs the memory of the
    adapted weights once more. Other models and quantised weights are left as they are. Call it where no gradient is
    computed.
    """
    layers = _find_adapted(model)
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
        # autocast keeps the 16-bit copies of trainable weights alone; those of others it makes anew for each token
        for weight in frozen:
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


def _find_adapted(model: nn.Module) -> list[Any]:
    """The layers that have adapters."""
    return [layer for layer in model.modules() if hasattr(layer, "base_layer") and hasattr(layer, "unmerge")]
