"""Attention in 16 bits on a CPU, where torch's fused kernel takes long for one new token, and for short gradients.

With plain products SmolLM2-135M decodes 32 rows in 0.73 of the time (benchmarks/bench_attention.py). From about 200
keys on the fused kernel is quicker.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

MAX_KEYS = 192
OTHERS = ("position_bias", "cache", "softcap", "output_attentions")  # what only transformers' own function knows


def use_short_attention() -> None:
    """From now on the models of this process whose attention is `sdpa` take `short_attention`."""
    ALL_ATTENTION_FUNCTIONS["sdpa"] = short_attention


def has_plain_layers(cache: Any, tokens: int | None = None) -> bool:
    """Whether a cache holds every token of every layer: no sliding windows, no recurrent states, nothing quantised.

    Args:
        tokens: that many tokens come; a window as wide as that is none.
    """

    def is_plain(layer: Any) -> bool:
        wide = tokens is not None and type(layer) is DynamicSlidingWindowLayer and tokens <= layer.sliding_window
        return type(layer) is DynamicLayer or wide

    layers = cache.layers if type(cache) is DynamicCache else []
    return bool(layers) and all(map(is_plain, layers))


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

    The products and the softmax are in float32, the result has 16 bits: the type of autocast, else of the query.

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
