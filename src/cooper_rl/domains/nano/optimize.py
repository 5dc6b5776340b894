"""Next-token training of a nano policy: batches, schedule and optimiser."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Iterator

import torch
from transformers import LlamaForCausalLM

from cooper_rl.packing import packed

logger = logging.getLogger(__name__)
IGNORED = -100  # the label of a token that has no loss


def batches(
    examples: list[tuple[list[int], int]], batch_tokens: int, pad: int, rng: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches (input_ids_B_T, labels_B_T) of similar length, in random order. Only completion tokens have labels."""
    lengths = [len(ids) for ids, _ in examples]
    order = sorted(range(len(examples)), key=lambda i: (lengths[i], rng.random()))
    groups = list(packed(order, lengths, batch_tokens))
    rng.shuffle(groups)
    for group in groups:
        width = max(len(examples[i][0]) for i in group)
        ids = torch.full((len(group), width), pad)
        labels = torch.full((len(group), width), IGNORED)
        for row, i in enumerate(group):
            tokens, start = examples[i]
            ids[row, : len(tokens)] = torch.tensor(tokens)
            labels[row, start : len(tokens)] = ids[row, start : len(tokens)]
        yield ids, labels


def cosine(steps: int, warmup: int) -> Callable[[int], float]:
    """The factor of the learning rate at a step: a linear warmup, then cosine decay to 0.1."""

    def factor(step: int) -> float:
        progress = min(1.0, step / steps)
        return min(1.0, (step + 1) / warmup) * (0.55 + 0.45 * math.cos(math.pi * progress))

    return factor


def optimize(
    model: LlamaForCausalLM,
    schedule: list[tuple[torch.Tensor, torch.Tensor]],
    factor: Callable[[int], float],
    *,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """Takes one AdamW step per batch, with the learning rate `learning_rate * factor(step)`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    started, running = time.monotonic(), 0.0
    for step, (ids, labels) in enumerate(schedule):
        loss = model(input_ids=ids, labels=labels, attention_mask=(ids != model.config.pad_token_id).long()).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        running = 0.98 * running + 0.02 * loss.item() if step else loss.item()
        if step % 200 == 0:
            logger.info("step %d loss %.4f (%.0f s)", step, running, time.monotonic() - started)
