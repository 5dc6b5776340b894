"""What an engine does for the credit of steps: advantages of tokens, shape (B, T), and the policy's own values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cooper_rl.method.credit import Ends, Values
from cooper_rl.packing import buckets, pad, tokens_of_a_pass
from cooper_rl.records import Sample

CUE = " The answer is"  # stands between the beginning of a completion and the reference answer


def token_advantages(
    tokenizer: Any,
    completions: Sequence[Sequence[int]],
    steps: Sequence[Sequence[tuple[int, float]]],
    advantages_B: Tensor,
    length: int,
) -> Tensor:
    """The advantage of each token, shape (B, length): that of the step which the token ends in.

    What follows the last step, such as the end of the completion, has the last step's. A completion without steps
    keeps its own advantage.

    Args:
        completions: token ids of each completion; its steps lie in the text that they decode to.
        steps: for each step of a completion the offset just after it, and its advantage (`Credit.of`).
        advantages_B: the completions' own advantages.
    """
    found_B_T = advantages_B[:, None].repeat(1, length)
    places: dict[tuple[int, ...], list[int]] = {}  # of equal completions once
    for row, (ids_T, steps_S) in enumerate(zip(completions, steps, strict=True)):
        if not steps_S:
            continue
        ids = tuple(ids_T)
        if ids not in places:
            places[ids] = [_tokens_of(tokenizer, ids, end) for end, _ in steps_S[:-1]]
        for start, (_, advantage) in zip((0, *places[ids]), steps_S, strict=True):
            found_B_T[row, start:] = advantage
    return found_B_T


def _tokens_of(tokenizer: Any, ids: tuple[int, ...], end: int) -> int:
    """How many tokens hold the first `end` characters."""
    return bisect_left(
        range(len(ids)), end, key=lambda count: len(tokenizer.decode(ids[:count], skip_special_tokens=True))
    )


@torch.no_grad()  # type: ignore[untyped-decorator]
def reference_values(
    policy: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    samples: Sequence[Sample],
    ends: Ends,
) -> Values:
    """The policy's probability of the reference answer after each step, as if it stopped there to state its answer.

    It is the geometric mean over the reference answer's tokens, from 0 to 1 (GRPO-VPS, arXiv 2604.20659).

    Args:
        prompts: token ids of each sample's prompt.
        ends: offsets of characters just after the steps.
    """
    cue = tokenizer(CUE, add_special_tokens=False)["input_ids"]
    rows: dict[tuple[int, ...], int] = {}  # each sequence once, with the number of its answer's tokens
    places: list[list[tuple[int, ...]]] = []
    for prompt, sample, ends_S in zip(prompts, samples, ends, strict=True):
        answer = tokenizer(f" {sample.reference_answer}", add_special_tokens=False)["input_ids"]
        begun = [tokenizer(sample.completion[:end], add_special_tokens=False)["input_ids"] for end in ends_S]
        places.append([(*prompt, *ids, *cue, *answer) for ids in begun])
        rows |= dict.fromkeys(places[-1], len(answer))
    sequences, training = list(rows), policy.training
    values: dict[tuple[int, ...], float] = {}
    policy.eval()
    lengths = list(map(len, sequences))
    for batch in buckets(range(len(sequences)), lengths, tokens_of_a_pass(policy.device.type)):
        own = [sequences[row] for row in batch]
        ids_B_T, mask_B_T = (each.to(policy.device) for each in pad(own, tokenizer.pad_token_id))
        logits_B_T = policy(input_ids=ids_B_T, attention_mask=mask_B_T).logits[:, :-1]
        logprobs_B_T = torch.log_softmax(logits_B_T.float(), -1).gather(2, ids_B_T[:, 1:, None])[:, :, 0]
        for row, sequence in enumerate(own):
            stop = len(sequence) - 1
            values[sequence] = logprobs_B_T[row, stop - rows[sequence] : stop].mean().exp().item()
    policy.train(training)
    return [[values[sequence] for sequence in own] for own in places]
