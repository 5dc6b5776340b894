"""Scoring many triples at once: length buckets, and the prefix that completions of one question share computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from transformers import DynamicCache


def pad(ids_B_T: Sequence[Sequence[int]], pad_id: int, width: int | None = None) -> tuple[Tensor, Tensor]:
    """Right-padded ids and attention mask, both (B, T)."""
    width = width or max(map(len, ids_B_T))
    ids = torch.full((len(ids_B_T), width), pad_id)
    mask = torch.zeros((len(ids_B_T), width), dtype=torch.long)
    for row, ids_T in enumerate(ids_B_T):
        ids[row, : len(ids_T)] = torch.tensor(ids_T)
        mask[row, : len(ids_T)] = 1
    return ids, mask


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


def buckets(groups: Sequence[Sequence[int]], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[list[int]]]:
    """Groups of like length together, as many as fit into `batch_tokens` padded tokens."""
    batch: list[list[int]] = []
    for group in sorted(groups, key=lambda g: max(lengths[i] for i in g)):
        longest = max(lengths[i] for i in group)
        if batch and (sum(map(len, batch)) + len(group)) * longest > batch_tokens:
            yield batch
            batch = []
        batch.append(list(group))
    if batch:
        yield batch


def score_ids(model: nn.Module, ids_B_T: Sequence[Sequence[int]], *, batch_tokens: int) -> Tensor:
    """Logits of token ids, shape (B,), equal to a plain padded forward up to rounding."""
    logits_B = torch.zeros(len(ids_B_T))
    groups = groups_of(ids_B_T) if len(ids_B_T) > 1 else [[i] for i in range(len(ids_B_T))]
    lengths = [len(ids) for ids in ids_B_T]
    for batch in buckets(groups, lengths, batch_tokens):
        rows = [i for group in batch for i in group]
        shared = [common_prefix([ids_B_T[i] for i in group]) if len(group) > 1 else 0 for group in batch]
        forward = _prefixed if sum(n * (len(g) - 1) for n, g in zip(shared, batch, strict=True)) > 256 else _plain
        logits_B[rows] = forward(model, ids_B_T, batch, shared)
    return logits_B


def _plain(model: nn.Module, ids_B_T: Sequence[Sequence[int]], batch: list[list[int]], _shared: list[int]) -> Tensor:
    ids, mask = pad([ids_B_T[i] for group in batch for i in group], model.config.pad_token_id)
    device = next(model.parameters()).device
    return model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, 0].float().cpu()


def _prefixed(model: nn.Module, ids_B_T: Sequence[Sequence[int]], batch: list[list[int]], shared: list[int]) -> Tensor:
    """Prefixes once (one row a group), then the completions on the groups' expanded key-value cache."""
    device = next(model.parameters()).device
    sizes = torch.tensor([len(group) for group in batch], device=device)
    prefix, prefix_mask = pad(
        [ids_B_T[group[0]][:n] or [model.config.pad_token_id] for group, n in zip(batch, shared, strict=True)],
        model.config.pad_token_id,
    )
    for row, n in enumerate(shared):
        prefix_mask[row, n:] = 0
    cache = DynamicCache(config=model.config)
    backbone = model.base_model
    backbone(input_ids=prefix.to(device), attention_mask=prefix_mask.to(device), past_key_values=cache, use_cache=True)
    cache.batch_repeat_interleave(sizes)
    own = [list(ids_B_T[i][n:]) for group, n in zip(batch, shared, strict=True) for i in group]
    ids, mask = pad(own, model.config.pad_token_id)
    starts = torch.tensor(shared, device=device).repeat_interleave(sizes)
    hidden = backbone(
        input_ids=ids.to(device),
        attention_mask=torch.cat([prefix_mask.to(device).repeat_interleave(sizes, 0), mask.to(device)], dim=1),
        position_ids=starts[:, None] + torch.arange(ids.shape[1], device=device)[None],
        past_key_values=cache,
        use_cache=True,
    ).last_hidden_state
    last = torch.tensor([len(ids_T) - 1 for ids_T in own], device=device)
    return model.score(hidden[torch.arange(len(own), device=device), last])[:, 0].float().cpu()
