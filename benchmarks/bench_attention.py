"""Attention in bfloat16 on a CPU: `short_attention` against transformers' call of torch's fused kernel.

    OMP_NUM_THREADS=1 python benchmarks/bench_attention.py --model models/smollm2-135m-instruct

Decoding is of 32 completions of one prompt, with 32 tokens each; training is a forward and backward pass of 16 rows of
90 tokens, 40 of them completion. Turns alternate, and seconds are the process's own, so that other work counts less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from cooper_rl.fast.decode import complete
from cooper_rl.fast.layers import short_attention

PROMPT, ROWS, TOKENS = 50, 32, 32
TRAINED, LENGTH, COMPLETION = 16, 90, 40


def decoded(model: Any) -> None:
    prompts = [list(range(100, 100 + PROMPT))] * ROWS
    with torch.no_grad():
        complete(model, prompts, 0, [-1], max_new_tokens=TOKENS, do_sample=True, top_k=0)


def trained(model: Any) -> None:
    ids = torch.arange(TRAINED * LENGTH).view(TRAINED, LENGTH) + 100
    seen = torch.ones_like(ids)
    seen[:, :10] = 0  # as where prompts have several lengths
    logits = model(input_ids=ids, attention_mask=seen, logits_to_keep=COMPLETION).logits
    torch.logsumexp(logits.float(), dim=-1).mean().backward()
    model.zero_grad()


def seconds(work: Callable[[Any], None], model: Any, attention: Callable[..., Any]) -> float:
    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention
    torch.manual_seed(0)
    started = time.process_time()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        work(model)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="models/smollm2-135m-instruct")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    for work in (decoded, trained):
        seconds(work, model, short_attention)  # the first call makes room
        pairs = [
            (seconds(work, model, sdpa_attention_forward), seconds(work, model, short_attention))
            for _ in range(arguments.turns)
        ]
        ratios = [ours / theirs for theirs, ours in pairs]
        theirs, ours = (median(column) for column in zip(*pairs, strict=True))
        print(
            f"{work.__name__}: theirs {theirs:.2f} s, ours {ours:.2f} s, ratio {median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
