"""A score is read from the last token, so the last layer need not transform the others behind its attention.

This leaves out about three quarters of the last layer's matrix products, forward and backward. That is
a fifth of all of them in a model of four layers, and a fortieth in one of thirty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

# Kinds whose layers end with `x = x + self_attn.o_proj(...)` and `x = x + mlp(...)`, perhaps with norms between.
KNOWN = {"llama", "mistral", "olmo2", "qwen2", "qwen3"}


@contextmanager
def only_last(model: nn.Module, last_B: Tensor) -> Iterator[None]:
    """Within this context the model's outputs are right at the last token of each row, and wrong at the others.

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
    if not model.training and model.config.model_type in KNOWN:
        layer = model.base_model.layers[-1]
        handles = [part.register_forward_pre_hook(choose) for part in (layer.self_attn.o_proj, layer.mlp)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
