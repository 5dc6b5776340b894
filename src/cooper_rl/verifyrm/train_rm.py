"""Trains VerifyRM on labelled triples with binary cross-entropy; master weights, optimiser and loss in float32."""

from __future__ import annotations

import hashlib
import json
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from cooper_rl.checkpoints import checkpoints, last_checkpoint
from cooper_rl.distributed import of_first, precision
from cooper_rl.errors import BadInputError
from cooper_rl.records import THRESHOLD, LabelledCompletion
from cooper_rl.settings.files import check_model_folder, is_adapters, resolve_model, written_base
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.synthesis.augment import augment_triples
from cooper_rl.synthesis.near_reference import near_counterfactuals
from cooper_rl.synthesis.other_reference import counterfactuals, mentioning_two, under_aliases
from cooper_rl.verifyrm.losses import bce_loss
from cooper_rl.verifyrm.model import VerifyRM, VerifyRMSettings
from cooper_rl.verifyrm.rm_trainer import RewardModelTrainer, arguments, join_ranks
from cooper_rl.verifyrm.stored import is_reward_model, round_adapters, set_difference, store_in_bfloat16
from cooper_rl.verifyrm.template import render
from cooper_rl.verifyrm.triples import evaluate, read_triples

logger = logging.getLogger(__name__)
RECIPE = "recipe.json"  # beside the weights, once they are trained


def train_reward_model(
    config: RewardModelTrainConfig, *, resume: bool = False, progress: Callable[..., object] | None = None
) -> dict[str, float]:
    """Trains a VerifyRM as the settings say, and saves it with a model card.

    The steps: read the triples, split them by question, augment, train, calibrate, evaluate, save.

    Args:
        resume: True continues from the last checkpoint of the output folder.
        progress: called with `completed`, `total` and a `description` after each step.

    Returns:
        The metrics on the held-out triples.

    Raises:
        MissingFileError: a file or model does not exist.
        BadInputError: a file or model cannot be used, or the folder holds checkpoints and `resume` is false.
    """
    folder = Path(config.output_dir)
    if resume and (figures := read_finished_figures(folder, config)) is not None:
        logger.warning("%s: the training is finished already, nothing is left to do", folder)
        return figures
    join_ranks(arguments(config, evaluated=False))
    checkpoint = of_first(lambda: checkpoint_of(folder, resume=resume))
    train, heldout = training_data(config)
    torch.manual_seed(config.seed)
    reward_model = load(config)
    folder.mkdir(parents=True, exist_ok=True)
    if not checkpoint:
        (folder / "metrics.jsonl").unlink(missing_ok=True)
    freeze(reward_model, config.frozen_layers)
    if config.lora_rank:
        reward_model.add_adapters(config.lora_rank, config.lora_alpha, base=config.model_name_or_path)
    trainer = RewardModelTrainer(reward_model, train, heldout, config, progress)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if config.merge_adapters:
        reward_model.merge_adapters()
    if config.adapters_rank:
        reward_model = to_adapters(reward_model, config)
    if reward_model.adapters is not None:
        round_adapters(reward_model.adapters)  # as they are stored, so that the figures are of what is saved
    reward_model.model.eval()
    if config.calibrate and heldout:
        reward_model.settings = replace(reward_model.settings, temperature=fit_temperature(reward_model, heldout))
    metrics = evaluate(reward_model.score_records, heldout) if heldout else {}
    if trainer.is_world_process_zero():
        own = reward_model.settings  # those of an existing VerifyRM, where training began with one
        config = replace(config, with_reference=own.with_reference, max_tokens=own.max_tokens)
        save(reward_model, folder, config, metrics, model_card(config, train, heldout, metrics))
    return metrics


def read_finished_figures(folder: Path, config: RewardModelTrainConfig) -> dict[str, float] | None:
    """The metrics of the finished training with these settings in the folder; None if there is none."""
    try:
        saved = json.loads((folder / RECIPE).read_text())
        return dict(saved["figures"]) if saved["recipe"] == recipe_of(config) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def recipe_of(config: RewardModelTrainConfig) -> dict[str, Any]:
    """The settings as `RECIPE` has them: without the folder, which may be moved, and with what `bf16` came to here."""
    own = {**asdict(config), "bf16": precision(config.bf16)[0]}
    return {key: value for key, value in own.items() if key != "output_dir"}


def checkpoint_of(folder: Path, *, resume: bool) -> Path | None:
    """The checkpoint that training goes on from; None where there is none.

    Damaged ones after it are renamed, since transformers keeps those with the highest numbers.

    Raises:
        BadInputError: the folder holds checkpoints and `resume` is false, or none of them is whole, or it holds a
            trained model and no checkpoint.
    """
    there = checkpoints(folder)
    if not there and (folder / RECIPE).is_file():
        raise BadInputError(f"{folder}: already holds a trained reward model; set another output_dir")
    if there and not resume:
        raise BadInputError(
            f"{folder}: already holds checkpoints of a run; continue it with --resume, or set another output_dir"
        )
    last = last_checkpoint(folder)
    if there and not last:
        raise BadInputError(
            f"{folder}: none of its checkpoints is whole, or an older version wrote them; move them away to start again"
        )
    for newer in there[there.index(last) + 1 :] if last else []:
        newer.rename(folder / f"damaged-{newer.name}")
    return last


def training_data(config: RewardModelTrainConfig) -> tuple[list[LabelledCompletion], list[LabelledCompletion]]:
    """(train, held out): the triples to train on, those of augmentation included, and the triples to measure on.

    Raises:
        MissingFileError: a file does not exist.
        BadInputError: a file has a bad record.
    """
    files = [read_triples(path) for path in config.train_files]
    heldout = [triple for path in config.eval_files for triple in read_triples(path)]
    if not config.eval_files:
        split = [split_by_question(triples, config.heldout_fraction, config.seed) for triples in files]
        files, heldout = [part for part, _ in split], [triple for _, part in split for triple in part]
    if not any(files):
        raise BadInputError(
            f"heldout_fraction = {config.heldout_fraction:g}: all {len(heldout)} triples are held out; make it smaller"
        )
    if config.train_sizes:
        sizes, share = config.train_sizes, config.train_right_share
        files = [draw_share(each, size, config.seed, share) for each, size in zip(files, sizes, strict=True)]
    if 0 < config.heldout_size < len(heldout):
        heldout = random.Random(f"heldout-{config.seed}").sample(heldout, config.heldout_size)
    train = [triple for triples in files for triple in triples]
    other = [each for triples in files for each in under_aliases(triples, config.augment_aliases, config.seed)]
    other += [t for triples in files for t in counterfactuals(triples, config.augment_counterfactual, config.seed)]
    near = config.augment_counterfactual_near
    other += [t for triples in files for t in near_counterfactuals(triples, near, config.seed)]
    other += [t for triples in files for t in mentioning_two(triples, config.augment_mentions, config.seed)]
    train = augment_triples(train, config, seed=config.seed, steps=config.prefix_steps)
    return [*train, *other], heldout


def draw_share(
    triples: list[LabelledCompletion], size: int, seed: int, right_share: float = 0.5
) -> list[LabelledCompletion]:
    """At most `size` of the triples in their order, at most this share of the size right ones; 0 gives all."""
    if not size:
        return triples
    rng, kept = random.Random(f"drawn-{seed}"), set[int]()
    for right, most in ((True, round(right_share * size)), (False, size - round(right_share * size))):
        places = [place for place, triple in enumerate(triples) if triple.correct is right]
        kept.update(rng.sample(places, min(most, len(places))))
    return [triples[place] for place in sorted(kept)]


def save(
    reward_model: VerifyRM, folder: Path, config: RewardModelTrainConfig, metrics: dict[str, float], card: str
) -> None:
    """Writes the checkpoint, its model card, and the recipe with a fingerprint of the weights."""
    reward_model.save_pretrained(folder)
    if reward_model.adapters is not None:
        store_in_bfloat16(folder / reward_model.weights_file)
    (folder / "README.md").write_text(card)
    digest = hashlib.sha256((folder / reward_model.weights_file).read_bytes()).hexdigest()
    record = {"recipe": recipe_of(config), "sha256": digest, "figures": metrics}
    (folder / RECIPE).write_text(json.dumps(record, indent=2) + "\n")


def fit_temperature(reward_model: VerifyRM, heldout: Sequence[LabelledCompletion]) -> float:
    """The temperature T at which sigmoid(z / T) has the smallest cross-entropy on the held-out triples."""
    with torch.inference_mode():
        logits_B = reward_model.logits_of(heldout)
    labels_B = torch.tensor([float(t.correct) for t in heldout])
    candidates = torch.logspace(-1, 1, 201)
    losses = [float(bce_loss(logits_B / t, labels_B)[0]) for t in candidates]
    return float(candidates[losses.index(min(losses))])


def load(config: RewardModelTrainConfig) -> VerifyRM:
    """An existing VerifyRM to train further, or a new one on a causal model's backbone."""
    path = resolve_model(config.model_name_or_path, "policy")
    check_model_folder(path, "model_name_or_path")
    if is_reward_model(path):
        found = VerifyRM.from_pretrained(path, device="cpu")  # the Trainer places it
        for name in ("with_reference", "max_tokens"):
            if getattr(config, name) != (kept := getattr(found.settings, name)):
                logger.warning("%s: keeps its %s = %s", config.model_name_or_path, name, kept)
        return found
    settings = VerifyRMSettings(with_reference=config.with_reference, max_tokens=config.max_tokens)
    return VerifyRM.from_backbone(path, settings=settings, seed=config.seed)


def freeze(reward_model: VerifyRM, count: int) -> None:
    """Leaves the embeddings and the first `count` layers out of training, in place; 0 trains all.

    Raises:
        BadInputError: the model has not more layers than that, or none that are found.
    """
    if not count:
        return
    model = reward_model.model
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    layers = next((found for found in lists if len(found) == model.config.num_hidden_layers), None)
    if layers is None or count >= len(layers):
        raise BadInputError(f"frozen_layers = {count}: the model has {len(layers or [])} layers; one has to be trained")
    for part in (model.get_input_embeddings(), *layers[:count]):
        part.requires_grad_(False)


def to_adapters(trained: VerifyRM, config: RewardModelTrainConfig) -> VerifyRM:
    """What training has changed, as low-rank adapters on `adapters_base`, or on the model that it began with.

    Where that one is itself a base with adapters, the new ones go on the base, in their place.
    """
    base, path = config.adapters_base, resolve_model(config.model_name_or_path, "policy")
    base = base or (written_base(path) if is_adapters(path) else config.model_name_or_path)
    found = load(replace(config, model_name_or_path=base))
    found.settings = trained.settings
    found.autocast = trained.autocast
    found.model.to(next(trained.model.parameters()).device)
    found.add_adapters(config.adapters_rank, alpha=config.adapters_rank, base=base)
    set_difference(found.adapters, trained.model.state_dict())
    return found


def split_by_question(
    triples: list[LabelledCompletion], fraction: float, seed: int
) -> tuple[list[LabelledCompletion], list[LabelledCompletion]]:
    """(train, held out): no question is in both."""

    def heldout(question: str) -> bool:
        digest = hashlib.sha256(f"{seed}\n{question}".encode()).digest()
        return int.from_bytes(digest[:4], "big") < fraction * 2**32

    return [t for t in triples if not heldout(t.question)], [t for t in triples if heldout(t.question)]


def model_card(
    config: RewardModelTrainConfig,
    train: list[LabelledCompletion],
    heldout: list[LabelledCompletion],
    metrics: dict[str, float],
) -> str:
    """The README.md of a checkpoint: its input format, training data, metrics and limits."""
    rows = "\n".join(f"| {name} | {value:.4f} |" for name, value in metrics.items() if isinstance(value, float))
    right = sum(t.correct for t in train)
    files = ", ".join(f"`{Path(path).name}`" for path in config.train_files)
    questions = {triple.question for triple in train}
    shared = sum(triple.question in questions for triple in heldout)
    apart = f"{shared:,} of them on questions that are among them" if shared else "on questions that are not among them"
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
{len(heldout):,} held-out triples {apart}.

## Metrics on the held-out triples, threshold {THRESHOLD:g}
| metric | value |
|---|---|
{rows}

## Limits
It knows completions like those it was trained on. A policy that is trained against it while it is frozen learns to
write completions that it scores too high. Train it along with the policy (`cooper train --arm cooper`).
"""
