"""Attention in 16 bits on a CPU: transformers' values and gradients, and only where it is quicker."""

import pytest
import torch
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from cooper_rl.fast import layers
from cooper_rl.fast.layers import MAX_KEYS, short_attention


class Layer(nn.Module):
    num_key_value_groups = 3
    is_causal = True


def inputs(tokens, keys, dtype=torch.bfloat16, rows=4):
    generator = torch.Generator().manual_seed(0)
    heads = (6, 2, 2)
    lengths = (tokens, keys, keys)
    return [
        torch.randn(rows, h, n, 16, generator=generator).to(dtype).requires_grad_()
        for h, n in zip(heads, lengths, strict=True)
    ]


def mask_of(tokens, keys, rows=4):
    """Causal, and the first row has five keys of padding on its left; its first token sees nothing."""
    seen = torch.ones(tokens, keys, dtype=torch.bool).tril(keys - tokens).expand(rows, 1, tokens, keys).clone()
    seen[0, :, :, :5] = False
    return seen


@pytest.mark.parametrize("tokens", [1, 9])
@pytest.mark.parametrize("added", [False, True])
def test_values_and_gradients_are_those_of_float32(tokens, added):
    seen = mask_of(tokens, 14)
    mask = torch.where(seen, 0.0, torch.finfo(torch.bfloat16).min).bfloat16() if added else seen
    ours, exact = inputs(tokens, 14), inputs(tokens, 14)
    mixed, _ = short_attention(Layer(), *ours, mask, scaling=0.3)
    expected, _ = sdpa_attention_forward(Layer(), *(each.float() for each in exact), seen, scaling=0.3)
    known = seen.any(-1).expand(4, 6, tokens).transpose(1, 2)  # a query that sees no key is padding
    assert mixed.dtype == torch.bfloat16 and mixed.isfinite().all()
    torch.testing.assert_close(mixed.float()[known], expected[known], atol=5e-3, rtol=1e-2)
    mixed.float()[known].square().sum().backward()
    expected[known].square().sum().backward()
    for mine, theirs in zip(ours, exact, strict=True):
        torch.testing.assert_close(mine.grad.float(), theirs.grad.float(), atol=2e-2, rtol=2e-2)


def test_one_token_without_a_mask_sees_every_key():
    ours = inputs(1, 20)
    expected, _ = sdpa_attention_forward(Layer(), *(each.float() for each in ours), None)
    torch.testing.assert_close(short_attention(Layer(), *ours, None)[0].float(), expected, atol=5e-3, rtol=1e-2)


@pytest.mark.parametrize(
    ("case", "is_ours"),
    {
        "one token": True,
        "gradients": True,
        "float32": False,
        "many keys": False,
        "no gradient": False,
        "no mask": False,
        "dropout": False,
        "softcap": False,
    }.items(),
)
def test_where_it_is_taken(case, is_ours, monkeypatch):
    monkeypatch.setattr(layers, "sdpa_attention_forward", lambda *given, **rest: "theirs")
    tokens, keys = 1 if case == "one token" else 9, MAX_KEYS + 1 if case == "many keys" else 14
    given = inputs(tokens, keys, torch.float32 if case == "float32" else torch.bfloat16)
    if case in ("no gradient", "one token"):
        given = [each.detach() for each in given]
    rest = {"dropout": {"dropout": 0.1}, "softcap": {"softcap": 30.0}}.get(case, {})
    mask = None if case == "no mask" else mask_of(tokens, keys)
    assert (short_attention(Layer(), *given, mask, **rest) != "theirs") is is_ours
