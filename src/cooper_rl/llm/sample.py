"""Completions of a policy in process, without disturbing the random state of the training around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def isolated(model: Any, seed: int) -> Iterator[None]:
    """Evaluation mode and a seed of its own inside; mode and random states as before afterwards."""
    training = model.training
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.inference_mode():
        torch.manual_seed(seed)
        model.eval()
        try:
            yield
        finally:
            model.train(training)


def sample(
    model: Any, tokenizer: Any, questions: Sequence[str], *, system_prompt: str | None = None, **settings: Any
) -> list[str]:
    """One completion a question, in order; the settings are those of `sample_messages`."""
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    messages = [[*system, {"role": "user", "content": question}] for question in questions]
    return sample_messages(model, tokenizer, messages, **settings)


def sample_messages(
    model: Any,
    tokenizer: Any,
    messages: Sequence[Sequence[dict[str, str]]],
    *,
    max_new_tokens: int,
    temperature: float,
    top_p: float = 1.0,
    seed: int = 0,
    batch_size: int = 256,
) -> list[str]:
    """One completion a conversation, in order; greedy at temperature 0. Batches are of like length."""
    prompts = [
        tokenizer.apply_chat_template(list(each), add_generation_prompt=True, tokenize=False) for each in messages
    ]
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), i))
    decoding: dict[str, Any] = {"do_sample": False}
    if temperature > 0:
        decoding = {"do_sample": True, "temperature": temperature, "top_p": top_p, "top_k": 0}
    completions = [""] * len(prompts)
    with isolated(model, seed):
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            inputs = tokenizer(
                [prompts[i] for i in rows],
                return_tensors="pt",
                padding=True,
                padding_side="left",
                add_special_tokens=False,
            ).to(model.device)
            output = model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=max_new_tokens,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
                **decoding,
            )
            texts = tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
            for row, text in zip(rows, texts, strict=True):
                completions[row] = text
    return completions
