"""Drawing a token of each row of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.generation import logits_process

NUCLEUS = 64  # tokens among which top_p is looked for first


def without_nucleus(processors: Any) -> tuple[Any, float]:
    """The processors before a top_p that comes last, and this top_p; all of them and 1 where it does not."""
    for last in processors[-1:]:
        if type(last) is logits_process.TopPLogitsWarper and last.min_tokens_to_keep == 1:
            return type(processors)(processors[:-1]), float(last.top_p)
    return processors, 1.0


def drawn_of_nucleus(probabilities_B_V: Tensor, top_p: float) -> Tensor:
    """One token of each row, (B,), among the likeliest whose probabilities reach `top_p`.

    Where the `NUCLEUS` likeliest reach it in every row, the vocabulary need not be sorted, which takes as long as the
    forward pass of a small model.
    """
    if top_p >= 1:
        return drawn(probabilities_B_V)
    likeliest = probabilities_B_V.topk(min(NUCLEUS, probabilities_B_V.shape[1]), dim=-1)
    if bool((likeliest.values.sum(-1) < top_p).any()):
        likeliest = probabilities_B_V.sort(dim=-1, descending=True)
    before = likeliest.values.cumsum(-1) - likeliest.values
    outside = before >= top_p
    outside[:, 0] = False  # the likeliest is always in, also where top_p is 0
    places_B = drawn(likeliest.values.masked_fill(outside, 0.0))
    return likeliest.indices.gather(1, places_B[:, None])[:, 0]


def drawn(probabilities_B_V: Tensor) -> Tensor:
    """One token of each row, (B,): where the cumulated probabilities pass a uniform number.

    `torch.multinomial` draws a number for each token of the vocabulary, which takes 15 times as long on a CPU. Sums and
    numbers are float64, so that no token is rounded away; a token of probability 0 is not drawn.
    """
    cumulated_B_V = probabilities_B_V.double().cumsum(-1)
    shape, device = (len(probabilities_B_V), 1), probabilities_B_V.device
    passed_B = torch.rand(shape, dtype=torch.float64, device=device) * cumulated_B_V[:, -1:]
    return torch.searchsorted(cumulated_B_V, passed_B, right=True)[:, 0].clamp(max=probabilities_B_V.shape[1] - 1)
