"""Trains VerifyRM on labelled triples with binary cross-entropy; master weights, optimiser and loss in float32."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import torch
from transformers import AutoConfig

from cooper_rl.recipe import resolve_model
from cooper_rl.records import LabelledCompletion
from cooper_rl.verifyrm.config import RewardModelTrainConfig
from cooper_rl.verifyrm.evaluate import evaluate
from cooper_rl.verifyrm.losses import bce_loss
from cooper_rl.verifyrm.model import VerifyRM, VerifyRMSettings, check_weights
from cooper_rl.verifyrm.scoring import plain_logits
from cooper_rl.verifyrm.template import render
from cooper_rl.verifyrm.triples import read_triples


def train_reward_model(
    config: RewardModelTrainConfig, progress: Callable[..., object] | None = None
) -> dict[str, float]:
    """Reads, splits by question, trains, evaluates and saves with a model card; returns the held-out figures.

    `progress` is told `completed`, `total` and a `description` after each step.
    """
    triples = [triple for path in config.train_files for triple in read_triples(path)]
    if config.eval_files:
        train, heldout = triples, [t for path in config.eval_files for t in read_triples(path)]
    else:
        train, heldout = split_by_question(triples, config.heldout_fraction, config.seed)
    torch.manual_seed(config.seed)
    reward_model = load(config)
    folder = Path(config.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "metrics.jsonl").open("w", buffering=1) as log:
        for step, total, metrics in optimize(reward_model, train, config):
            if step % config.logging_steps == 0 or step == total:
                log.write(json.dumps({"step": step, **metrics}) + "\n")
            if progress:
                progress(completed=step, total=total, description=f"loss {metrics['loss']:.3f}")
    reward_model.model.eval()
    figures = evaluate(reward_model, heldout) if heldout else {}
    reward_model.save_pretrained(folder)
    (folder / "README.md").write_text(model_card(config, train, heldout, figures))
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    recipe = {key: value for key, value in asdict(config).items() if key != "output_dir"}
    (folder / "recipe.json").write_text(
        json.dumps({"recipe": recipe, "sha256": digest, "figures": figures}, indent=2) + "\n"
    )
    return figures


def load(config: RewardModelTrainConfig) -> VerifyRM:
    """An existing VerifyRM to go on with, or a new one on a causal model's backbone."""
    path = resolve_model(config.model_name_or_path, "policy")
    check_weights(path)
    architectures = AutoConfig.from_pretrained(path).architectures or []
    if any("SequenceClassification" in name for name in architectures):
        return VerifyRM.from_pretrained(path)
    settings = VerifyRMSettings(with_reference=config.with_reference, max_tokens=config.max_tokens)
    return VerifyRM.from_backbone(path, settings=settings, seed=config.seed)


def split_by_question(
    triples: list[LabelledCompletion], fraction: float, seed: int
) -> tuple[list[LabelledCompletion], list[LabelledCompletion]]:
    """(train, held out): no question is in both."""

    def heldout(question: str) -> bool:
        digest = hashlib.sha256(f"{seed}\n{question}".encode()).digest()
        return int.from_bytes(digest[:4], "big") < fraction * 2**32

    return [t for t in triples if not heldout(t.question)], [t for t in triples if heldout(t.question)]


def optimize(
    reward_model: VerifyRM, train: list[LabelledCompletion], config: RewardModelTrainConfig
) -> Iterator[tuple[int, int, dict[str, float]]]:
    """AdamW over length-bucketed batches in seeded order; yields (step, total, metrics) after each step."""
    ids = reward_model.encode(
        [t.question for t in train], [t.reference_answer for t in train], [t.completion for t in train]
    )
    labels = torch.tensor([t.correct for t in train], dtype=torch.float32)
    size = config.per_device_train_batch_size
    total = math.ceil(math.ceil(len(train) / size) * config.num_train_epochs)
    total = min(total, config.max_steps) if config.max_steps > 0 else total
    model = reward_model.model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=config.learning_rate,
        betas=(config.adam_beta1, config.adam_beta2),
        weight_decay=config.weight_decay,
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: lr_factor(config, step, total))
    device = next(model.parameters()).device
    rng = random.Random(config.seed)
    step = 0
    while step < total:
        for rows in batches([len(i) for i in ids], size, rng):
            with torch.autocast(device.type, torch.bfloat16, enabled=config.bf16):
                logits_B = plain_logits(model, [ids[i] for i in rows])
            loss, metrics = bce_loss(logits_B, labels[rows].to(device))
            loss.backward()
            metrics["grad_norm"] = torch.nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm).item()
            metrics["learning_rate"] = scheduler.get_last_lr()[0]
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            yield step, total, metrics
            if step >= total:
                return


def lr_factor(config: RewardModelTrainConfig, step: int, total: int) -> float:
    """Warm-up, then the schedule."""
    warmup = max(1, round(config.warmup_ratio * total))
    if step < warmup:
        return (step + 1) / warmup
    rest = (step - warmup) / max(1, total - warmup)
    if config.lr_scheduler_type == "constant":
        return 1.0
    return 1 - rest if config.lr_scheduler_type == "linear" else 0.5 * (1 + math.cos(math.pi * rest))


def batches(lengths: list[int], size: int, rng: random.Random) -> list[list[int]]:
    """Batches of like length within shuffled pools of 50 batches, themselves in shuffled order."""
    order = list(range(len(lengths)))
    rng.shuffle(order)
    groups = []
    for start in range(0, len(order), 50 * size):
        pool = sorted(order[start : start + 50 * size], key=lambda i: lengths[i])
        groups += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(groups)
    return groups


def model_card(
    config: RewardModelTrainConfig,
    train: list[LabelledCompletion],
    heldout: list[LabelledCompletion],
    figures: dict[str, float],
) -> str:
    """The README.md of a checkpoint: what it reads, what it was trained on, how well it does, where it ends."""
    rows = "\n".join(f"| {name} | {value:.4f} |" for name, value in figures.items() if isinstance(value, float))
    right = sum(t.correct for t in train)
    files = ", ".join(f"`{Path(path).name}`" for path in config.train_files)
    return f"""---
library_name: transformers
pipeline_tag: text-classification
tags: [reward-model, verifier, cooper]
---
# VerifyRM

A reference-based reward model: the sigmoid of its one logit is the probability that a completion answers the question
as the reference answer does. Made by `cooper train-rm` from `{config.model_name_or_path}`, seed {config.seed}.

## Input
```
{render("Q", "A" if config.with_reference else None, "C")}
```
At most {config.max_tokens} tokens; a longer completion loses its beginning.

## Data
{len(train):,} labelled triples ({right:,} right, {len(train) - right:,} wrong) from {files};
{len(heldout):,} held-out triples on questions that are not among them.

## Figures on the held-out triples, threshold 0.5
| figure | value |
|---|---|
{rows}

## Limits
It knows completions like those it was trained on. A policy trained against it while it stays frozen learns to write
what it overrates; train it along (`cooper train --arm cooper`).
"""
