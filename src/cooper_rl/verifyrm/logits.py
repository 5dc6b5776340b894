"""Scoring many triples at once: length buckets, and the prefix that completions of one question share computed once.

Below it is what the forward passes of training add: layers that are computed again in the backward pass, and a head in
float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache
from transformers.modeling_layers import GradientCheckpointingLayer

from cooper_rl.fast.layers import only_last
from cooper_rl.packing import buckets, has_plain_layers, pad, spread

WORTH_SHARING = 64  # tokens that a shared prefix must save


def common_prefix(ids_G_T: Sequence[Sequence[int]]) -> int:
    """How many tokens all sequences share; every sequence keeps at least one token of its own."""
    first, last = min(map(list, ids_G_T)), max(map(list, ids_G_T))
    limit = min(map(len, ids_G_T)) - 1
    return next((i for i in range(limit) if first[i] != last[i]), limit)


def groups_of(ids_B_T: Sequence[Sequence[int]], head: int = 16) -> list[list[int]]:
    """Indices of sequences that begin alike (same question), in runs of the sorted order."""
    order = sorted(range(len(ids_B_T)), key=lambda i: list(ids_B_T[i]))
    groups: list[list[int]] = []
    shared = 0
    for i in order:
        if groups:
            common = common_prefix([ids_B_T[groups[-1][0]], ids_B_T[i]])
            if common >= max(head, shared // 2):
                shared = min(shared, common) if shared else common
                groups[-1].append(i)
                continue
        groups.append([i])
        shared = 0
    return groups


def score_ids(
    model: nn.Module,
    ids_B_T: Sequence[Sequence[int]],
    *,
    batch_tokens: int,
    places_B: Sequence[Sequence[int]] | None = None,
) -> Tensor:
    """Logits of token ids, shape (B,), equal to a plain padded forward up to rounding.

    A prefix that enough rows share is computed once. The rows' own tokens follow on copies of its keys and values, in
    buckets of like length whatever their group.

    Args:
        places_B: for each row the tokens whose logits are wanted, one or more; by default its last token. With them
            the result is (N,): the logits of the first row's places, then those of the second, and so on.
    """
    wanted_B = [[len(ids) - 1] for ids in ids_B_T] if places_B is None else places_B
    logits_N, slots_B = torch.zeros(sum(map(len, wanted_B))), slots_of(wanted_B)

    def keep(rows: Sequence[int], logits: Tensor) -> None:
        logits_N[[slot for row in rows for slot in slots_B[row]]] = logits.cpu()

    shared_B = [0] * len(ids_B_T)  # tokens of a row that it shares with others
    groups: list[list[int]] = []
    # keys and values of a narrow window, or the state of a recurrent layer, cannot be gone on from at another place
    most = 2 * max(map(len, ids_B_T), default=0)  # a padded prefix and what follows it
    shareable = has_plain_layers(DynamicCache(config=model.config), most)
    for group in groups_of(ids_B_T) if shareable else []:
        shared = min(common_prefix([ids_B_T[i] for i in group]), *(wanted_B[i][0] for i in group))
        if shared * (len(group) - 1) >= WORTH_SHARING:
            groups.append(group)
            for i in group:
                shared_B[i] = shared
    own_B_T = [ids[shared:] for ids, shared in zip(ids_B_T, shared_B, strict=True)]
    lengths = [len(own) for own in own_B_T]
    for rows in buckets([i for i, shared in enumerate(shared_B) if not shared], lengths, batch_tokens):
        places = None if places_B is None else [wanted_B[i] for i in rows]
        keep(rows, plain_logits(model, [own_B_T[i] for i in rows], places))
    for some in buckets(range(len(groups)), [shared_B[group[0]] for group in groups], batch_tokens):
        prefixes, mask = _prefixes(model, [ids_B_T[i][: shared_B[i]] for i in (groups[g][0] for g in some)])
        place = {row: index for index, g in enumerate(some) for row in groups[g]}
        for rows in buckets(list(place), lengths, batch_tokens):
            own_places = [[at - shared_B[i] for at in wanted_B[i]] for i in rows]
            prefix_of_row = torch.tensor([place[i] for i in rows])
            keep(rows, _continue_prefixes(model, prefixes, mask, prefix_of_row, [own_B_T[i] for i in rows], own_places))
    return logits_N


def slots_of(places_B: Sequence[Sequence[int]]) -> list[range]:
    """For each row its part of a flat result, which has the rows' places one after another."""
    ends = list(accumulate(map(len, places_B)))
    return [range(end - len(places), end) for end, places in zip(ends, places_B, strict=True)]


def plain_logits(
    model: nn.Module, ids_B_T: Sequence[Sequence[int]], places_B: Sequence[Sequence[int]] | None = None
) -> Tensor:
    """Logits of token ids by one padded forward pass, float32: (B,) of the last tokens, or (N,) of `places_B`."""
    ids, mask = pad(ids_B_T, model.config.pad_token_id)
    device = next(model.parameters()).device
    if places_B is not None:
        hidden_B_T_H = model.base_model(input_ids=ids.to(device), attention_mask=mask.to(device)).last_hidden_state
        return _head(model, hidden_B_T_H, places_B)
    with only_last(model, mask.sum(1).to(device) - 1):
        return model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, 0].float()


def _prefixes(model: nn.Module, ids_P_T: Sequence[Sequence[int]]) -> tuple[DynamicCache, Tensor]:
    """Keys and values of each prefix, and their mask (P, T)."""
    device = next(model.parameters()).device
    ids, mask = pad(ids_P_T, model.config.pad_token_id)
    cache = DynamicCache(config=model.config)
    model.base_model(input_ids=ids.to(device), attention_mask=mask.to(device), past_key_values=cache, use_cache=True)
    return cache, mask


def _head(model: nn.Module, hidden_B_T_H: Tensor, places_B: Sequence[Sequence[int]]) -> Tensor:
    """The score head's logits at each row's places, (N,), float32."""
    rows = [row for row, places in enumerate(places_B) for _ in places]
    hidden_N_H = hidden_B_T_H[torch.tensor(rows), torch.tensor([place for places in places_B for place in places])]
    return model.score(hidden_N_H)[:, 0].float()


def _continue_prefixes(
    model: nn.Module,
    prefixes: DynamicCache,
    mask_P_T: Tensor,
    place_B: Tensor,
    own_B_T: Sequence[Sequence[int]],
    places_B: Sequence[Sequence[int]],
) -> Tensor:
    """Logits at `places_B` of rows that go on from the prefixes at `place_B`, (N,)."""
    device = next(model.parameters()).device
    width = int(mask_P_T[place_B].sum(1).max())
    cache = spread(prefixes, place_B.to(device), width, model.config)
    ids, mask = pad(own_B_T, model.config.pad_token_id)
    starts = mask_P_T[place_B].sum(1)
    last = torch.tensor([places[-1] for places in places_B], device=device)
    single = all(len(places) == 1 for places in places_B)
    with only_last(model, last) if single else nullcontext():
        hidden = model.base_model(
            input_ids=ids.to(device),
            attention_mask=torch.cat([mask_P_T[place_B, :width], mask], dim=1).to(device),
            position_ids=(starts[:, None] + torch.arange(ids.shape[1])[None]).to(device),
            past_key_values=cache,
            use_cache=True,
        ).last_hidden_state
    return _head(model, hidden, places_B)


@contextmanager
def recomputing(model: nn.Module) -> Iterator[None]:
    """Layers that run within this context keep their inputs alone; the backward pass computes the rest again.

    It is the gradient checkpointing of transformers, for a model in evaluation mode whose rows go on from a prefix's
    keys and values. The last layer, which the backward pass begins with, keeps everything.
    """
    layers = [layer for layer in model.modules() if isinstance(layer, GradientCheckpointingLayer)][:-1]
    used = model.config.use_cache
    model.config.use_cache = False  # no cache but the prefixes'
    for index, layer in enumerate(layers):
        layer.forward = partial(_run_again, layer.forward, model.config, index)
    try:
        yield
    finally:
        model.config.use_cache = used
        for layer in layers:
            del layer.forward


def _run_again(
    forward: Callable[..., Any],
    config: Any,
    index: int,
    hidden_B_T_H: Tensor,
    past_key_values: Any = None,
    **inputs: Any,
) -> Any:
    """The layer's output. Autograd keeps its inputs alone, and the backward pass does not fill the cache again."""

    def alone(hidden_B_T_H: Tensor, *before: Tensor) -> tuple[Any, ...]:
        if past_key_values is None:
            return (forward(hidden_B_T_H, past_key_values=None, **inputs),)
        own = DynamicCache(config=config)
        if before:
            own.update(*before, index)
        output = forward(hidden_B_T_H, past_key_values=own, **inputs)
        return output, own.layers[index].keys, own.layers[index].values

    held = past_key_values.layers[index] if past_key_values is not None else None
    before = (held.keys, held.values) if held is not None and held.get_seq_length() else ()
    output, *cached = checkpoint(alone, hidden_B_T_H, *before, use_reentrant=False, preserve_rng_state=False)
    if cached and not before:  # a prefix, which rows go on from; nothing reads what they add to it
        past_key_values.update(*cached, index)
    return output


def score_exactly(head: nn.Linear, inputs: tuple[Tensor], _: Tensor) -> Tensor | None:
    """A forward hook of the score head: under autocast it computes in float32, since 16 bits tell few scores apart.

    Of a logit between 4 and 8 bfloat16 keeps steps of 0.03. Within a group of completions that all score 0.99 an
    advantage would be mostly rounding.
    """
    device = inputs[0].device.type
    if not torch.is_autocast_enabled(device):
        return None
    with torch.autocast(device, enabled=False):
        return F.linear(inputs[0].float(), head.weight.float(), head.bias)
