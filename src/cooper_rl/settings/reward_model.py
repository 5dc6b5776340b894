"""The settings of the reward model: its own training before a run, and stage 2 of the joint step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.schema import check_fields, check_given, setting


@dataclass
class FilesSettings:
    """The model, its training and held-out data, and its output folder."""

    HEADING: ClassVar[str] = "Model and data"

    model_name_or_path: str = ""
    """Path or hub id of the model to train: a VerifyRM, or a causal language model, which gets a new head."""
    train_files: list[str] = setting([])
    """Labelled triples to train on: JSONL, JSON, CSV (also .gz) or parquet files, or hub data sets."""
    output_dir: str = ""
    """Folder for the trained VerifyRM and its model card."""
    eval_files: list[str] = setting([])
    """Labelled triples to measure the model on: files or hub data sets; without them, heldout_fraction of the training
    questions is held out."""
    heldout_fraction: float = setting(0.1, least=0, most=1)
    """Share of the questions to hold out if there are no eval_files; below 1."""
    heldout_size: int = setting(0, least=0)
    """Maximum number of held-out triples to measure on, drawn at random; 0 takes all."""
    train_sizes: list[int] = setting([])
    """Maximum number of triples to draw from each of the train_files, in the files' order; 0 takes all of a file, and
    an empty list all of each."""
    train_right_share: float = setting(0.5, least=0, most=1)
    """Maximum share of each of the train_sizes to draw from the right triples."""
    seed: int = 0
    """Seed for the split, the order of triples, augmentation and a new head."""


@dataclass(kw_only=True)
class ReadingSettings:
    """The model's input, and which of its weights are trained."""

    HEADING: ClassVar[str] = "Input and weights"

    max_tokens: int = setting(1024, least=1)
    """Maximum number of input tokens; a longer completion loses its beginning."""
    with_reference: bool = True
    """Let the model read the reference answer as well as the question and the completion."""
    lora_rank: int = setting(0, least=0)
    """Rank of the low-rank adapters (LoRA) to train; 0 trains all weights."""
    merge_adapters: bool = True
    """Merge the adapters into the saved model; false saves the adapters alone, a few megabytes, which are loaded on the
    model that they were trained on."""
    frozen_layers: int = setting(0, least=0)
    """Freeze the embeddings and the first N layers; a step takes a third less time with half of the layers frozen. Not
    with lora_rank."""
    adapters_rank: int = setting(0, least=0)
    """Save the head, and as adapters of this rank the best approximation of what training has changed in the linear
    layers; 0 saves all weights. Needs merge_adapters = true."""
    adapters_base: str = ""
    """Model that the adapters of adapters_rank go on; by default the one that training began with, or its own base if
    it has adapters."""
    lora_alpha: int = setting(0, least=0)
    """Scale the adapters by this number divided by lora_rank; 0 means twice the rank."""


@dataclass(kw_only=True)
class OptimiserSettings:
    """The optimiser's steps. The defaults are the released settings: AdamW 2e-5, weight decay 0.01, 3 epochs."""

    HEADING: ClassVar[str] = "Optimiser"

    num_train_epochs: float = setting(3.0, least=0)
    """Number of passes over the triples."""
    max_steps: int = -1
    """Number of optimiser steps; -1 trains for num_train_epochs."""
    per_device_train_batch_size: int = setting(32, least=1)
    """Number of triples per forward and backward pass on each device."""
    tokens_per_pass: int = setting(16384, least=1)
    """Maximum number of tokens per forward and backward pass, unless one triple has more; a longer batch is cut into
    several passes, whose step is the same but for rounding."""
    gradient_accumulation_steps: int = setting(1, least=1)
    """Number of batches to accumulate gradients over before an optimiser step."""
    learning_rate: float = setting(2e-5, least=0)
    """Peak learning rate, after the warmup."""
    lr_scheduler_type: Literal["cosine", "linear", "constant"] = "cosine"
    """Learning-rate schedule after the warmup."""
    warmup_ratio: float = setting(0.03, least=0, most=1)
    """Warm up the learning rate from 0 over this share of the steps."""
    optim: Literal["adamw_torch_fused", "adamw_torch"] = "adamw_torch_fused"
    """Optimiser: adamw_torch_fused is faster; the shipped weights were made with adamw_torch."""
    weight_decay: float = setting(0.01, least=0)
    """Weight decay of AdamW."""
    adam_beta1: float = setting(0.9, least=0, most=1)
    """Beta 1 of AdamW: decay of the running mean of the gradients."""
    adam_beta2: float = setting(0.999, least=0, most=1)
    """Beta 2 of AdamW: decay of the running mean of the squared gradients."""
    max_grad_norm: float = setting(1.0, least=0)
    """Clip the gradient to this norm."""
    bf16: bool | None = None
    """Compute forward passes in bfloat16; weights stay float32. null is true on a GPU that has it, and turns on TF32
    for the float32 products there; elsewhere null is false."""
    gradient_checkpointing: bool | None = None
    """Recompute activations in the backward pass, which saves memory and takes longer; null does it where the device is
    no CPU."""
    class_balance: bool = False
    """Weight the loss so that right and wrong triples count the same, however many there are of each."""
    prefix_weight: float = setting(0.0, least=0)
    """Weight of the loss of the prefixes that end with each step, added to the loss of the whole; 0 leaves it out. A
    prefix has the label of the whole, or is wrong from the record's first_error on. Where augment_wrong changes a
    number, the step that has it is the first error."""
    prefix_margin: float = setting(0.0, least=0)
    """Also ask, in the loss of the prefixes, that each right one of a completion has a logit higher by this than each
    wrong one; 0 leaves this out. Only records with first_error have both."""
    prefix_steps: Literal["line", "sentence"] = "line"
    """What counts as a step of a completion in the loss of prefixes, unless its record has steps."""


@dataclass(kw_only=True)
class AugmentationSettings:
    """Shares of the triples that are repeated in a changed form. Each share is drawn with `seed`."""

    HEADING: ClassVar[str] = "Augmentation"

    augment_forms: float = setting(0.0, least=0, most=1)
    """Share of the triples to repeat with the reference answer in another form."""
    augment_alone: float = setting(0.0, least=0, most=1)
    """Share of the triples to repeat with the completion cut down to the answer it states."""
    augment_wrong: float = setting(0.0, least=0, most=1)
    """Share of the right triples to repeat as wrong ones: with another answer, without an answer, with several answers,
    or cut off."""
    augment_references: float = setting(0.0, least=0, most=1)
    """Share of the triples to repeat with another right completion as the reference answer."""
    augment_invent: float = setting(0.0, least=0, most=1)
    """Share of the questions to repeat with invented answers."""
    augment_choices: float = setting(0.0, least=0, most=1)
    """Share of the questions to repeat as multiple-choice questions."""
    augment_working: float = setting(0.0, least=0, most=1)
    """Share of the triples to repeat with answer and reference answer put after the reasoning of another completion."""
    augment_aliases: float = setting(0.0, least=0, most=1)
    """Share of the triples with aliases to repeat with one of them as the reference answer."""
    augment_counterfactual: float = setting(0.0, least=0, most=1)
    """Share of each file's triples to repeat under a wrong reference answer, that of another question, and to label
    wrong; right completions come first."""
    augment_counterfactual_near: float = setting(0.0, least=0, most=1)
    """The same with near wrong references, the right one with one part of another (12 March for 12 February), and right
    completions alone. Taken are those that the rule `auto` proves wrong."""
    augment_mentions: float = setting(0.0, least=0, most=1)
    """Share of the triples to repeat with a made-up completion that names the right answer and another question's; it
    is right if it settles on the right one."""


@dataclass(kw_only=True)
class CheckpointSettings:
    """When the model is measured and saved."""

    HEADING: ClassVar[str] = "Measuring and saving"

    calibrate: bool = False
    """Fit a temperature on the held-out triples and store it with the model."""
    eval_steps: int = setting(0, least=0)
    """Measure on the held-out triples every N steps; 0 measures at the end only."""
    early_stopping_patience: int = setting(0, least=0)
    """Stop after this many measurements without a better balanced accuracy; 0 never stops early. Needs eval_steps and a
    save_steps that is a multiple of it."""
    save_steps: int = setting(0, least=0)
    """Save a checkpoint for --resume every N steps; 0 saves none."""
    logging_steps: int = setting(20, least=1)
    """Log the loss every N steps."""


@dataclass
class RewardModelTrainConfig(
    FilesSettings, ReadingSettings, OptimiserSettings, AugmentationSettings, CheckpointSettings
):
    """A reward-model training run.

    Raises:
        BadInputError: a setting that is missing, of the wrong type, or in contradiction with another.
    """

    def __post_init__(self) -> None:
        check_fields(self, RewardModelTrainConfig, "train-rm")
        check_given(self, "train-rm", "model_name_or_path", "train_files", "output_dir")
        steps = self.eval_steps, self.save_steps
        if self.early_stopping_patience and (not all(steps) or self.save_steps % self.eval_steps):
            raise BadInputError("train-rm: early_stopping_patience needs eval_steps and a save_steps that it divides")
        if self.frozen_layers and self.lora_rank:
            raise BadInputError("train-rm: lora_rank freezes all layers; leave frozen_layers out")
        if self.adapters_rank and not self.merge_adapters:
            raise BadInputError(
                "train-rm: adapters_rank and merge_adapters = false both save adapters; set one of them"
            )
        if len(self.train_sizes) not in (0, len(self.train_files)):
            raise BadInputError(
                f"train-rm: train_sizes has {len(self.train_sizes)} numbers for {len(self.train_files)} train_files; "
                "give one for each"
            )
        if self.heldout_fraction == 1:
            raise BadInputError("train-rm: heldout_fraction = 1 leaves nothing to train on; it must be below 1")


@dataclass
class PairSettings:
    """The contrastive pairs: a right completion and a wrong one of the same problem."""

    HEADING: ClassVar[str] = "Pairs (stage 2)"

    negative_sources: dict[str, float] = setting({"mined": 1.0, "assistant": 1.0})
    """Sources of a prompt's wrong completions, with their weights in whole pairs: mined, assistant, perturb, shuffle or
    your own as module:Class. mined takes rollouts that the rule finds wrong, the highest scores first. assistant takes
    rewrites by a language model. perturb changes the right one's answer. shuffle takes another problem's."""
    pairs_per_prompt: int = setting(2, least=1)
    """Number of pairs per prompt, made of its rollouts; the paper makes 1."""
    pairs_balanced: bool = True
    """Give each prompt pairs_per_prompt pairs; false gives a prompt with more wrong rollouts more of them, and the step
    as many in all."""
    mined_max_right: float = setting(0.05, least=0, most=1)
    """Do not mine, or replay as wrong, a rollout whose estimated probability of being right after all is above this; 1
    teaches whatever the rule calls wrong."""
    negative_tries: int = setting(3, least=1)
    """Ask a source up to N times for a completion that the rule finds wrong."""
    negative_fallback: str = "none"
    """Source to ask when all negative_tries of a pair's own source have failed: perturb, shuffle or your own as
    module:Class; none makes no pair then."""
    positive_label_noise: float = setting(0.0, least=0, most=1)
    """Probability of drawing a positive from the completions that are not CORRECT, to imitate a verifier that errs."""
    positive_fallback: Literal["none", "worked_solution"] = "none"
    """Positive of a prompt without a right rollout: worked_solution takes the data set's solution, none makes no
    pair."""


@dataclass
class UpdateSettings:
    """The reward model's optimiser step; the defaults are the released settings."""

    HEADING: ClassVar[str] = "The reward model's step (stage 2)"

    reward_model_learning_rate: float = setting(1e-5, least=0)
    """Peak learning rate of the reward model."""
    reward_model_weight_decay: float = setting(0.01, least=0)
    """Weight decay of the reward model's AdamW."""
    reward_model_adam_beta1: float = setting(0.9, least=0, most=1)
    """Beta 1 of the reward model's AdamW: decay of the running mean of its gradients."""
    reward_model_adam_beta2: float = setting(0.999, least=0, most=1)
    """Beta 2 of the reward model's AdamW: decay of the running mean of its squared gradients."""
    reward_model_lr_scheduler_type: Literal["constant", "constant_with_warmup", "linear", "cosine"] = (
        "constant_with_warmup"
    )
    """Learning-rate schedule of the reward model."""
    reward_model_warmup_steps: int = setting(0, least=0)
    """Warm up the reward model's learning rate from 0 over N of its steps."""
    reward_model_update_steps: int = setting(1, least=1)
    """Update the reward model on every N-th batch. The others make no pairs, but replay may draw from them."""
    reward_model_alone_steps: int = setting(0, least=0)
    """Train the reward model alone on the first N batches: the policy samples them, but takes no step. Its learning
    rate follows its schedule all the same."""
    reward_model_max_grad_norm: float = setting(1.0, least=0)
    """Clip the reward model's gradient to this norm."""
    reward_model_sharded: bool = False
    """Shard the reward model's weights and optimiser over the ranks (FSDP2)."""
    reward_model_offload: bool = False
    """Keep the reward model's optimiser state in main memory between its steps, which leaves 8 bytes a parameter of the
    device to what generates then; a step takes longer. Not with reward_model_sharded."""
    reward_model_pairs_per_pass: int = setting(0, least=0)
    """Number of pairs per pass through the reward model; fewer need less memory; 0 takes all pairs of a step."""
    reward_model_tokens_per_pass: int = setting(16384, least=1)
    """Maximum number of tokens per pass through the reward model in its step, unless one pair has more; fewer need less
    memory."""
    reward_model_gradient_checkpointing: bool | None = None
    """Recompute the reward model's activations in the backward pass of its step, which saves memory and takes longer;
    null does it where the device is no CPU."""
    rehearsal_per_step: int = setting(0, least=0)
    """Also train the reward model, at each update, on N of the rehearsal_triples, so that the threshold between right
    and wrong does not drift. A step without a pair has no update."""
    replay_per_step: int = setting(0, least=0)
    """Also train the reward model, at each update, on N of the run's rollouts with the rule's label, half of them right
    (an even number)."""
    prefix_weight: float = setting(0.0, least=0)
    """Weight of the loss of prefixes, added to the reward model's loss: prefixes of the pairs, up to where these part,
    and of rehearsed and replayed triples."""
    label_pairs: bool = False
    """Add the binary cross-entropy of the pairs, right against wrong, to the contrastive loss."""


@dataclass
class GuardSettings:
    """The guard, which rolls back an update that makes the reward model worse, and the alarm on signs of hacking."""

    HEADING: ClassVar[str] = "Guard and alarm"

    guard_steps: int = setting(10, least=0)
    """Check all anchors and probes every N updates; 0 means no guard."""
    guard_sample: int = setting(64, least=0)
    """Number of anchors and probes to check on each device after each update; if these got worse, all are checked."""
    guard_tolerance: float = setting(0.05, least=0)
    """Roll back updates if balanced accuracy on the anchors falls further than this below its best level."""
    guard_probe_tolerance: float = setting(0.1, least=0)
    """Roll back updates if the pass rate on the probes falls further than this below its best level."""
    guard_probes: int = setting(10, least=0)
    """Number of the anchors' questions to probe, each with every known hack."""
    rule_misses_per_hit: float | None = setting(None, least=0)
    """Number of right completions that the rule is assumed to call INCORRECT for each one that it calls CORRECT; null
    takes the verifier's known rate."""
    alarm_action: Literal["log", "stop", "hybrid"] = "log"
    """What to do when the hacking alarm fires: log (write a warning), stop (end the run with a checkpoint) or hybrid
    (change the reward to hybrid)."""
    alarm_probability: float = setting(0.01, least=1e-9, most=0.5)
    """Maximum probability of a false alarm on acceptance under wrong references, in a run in which it rises by no more
    than 5 points."""
    monitors: list[str] = setting([])
    """Monitors of your own that watch each step, before the guard, each as module:Class."""
    max_skipped_steps: int = setting(10, least=0)
    """End the run after more than N steps in a row whose gradient is not finite."""


@dataclass
class MeasuringSettings:
    """When and how the held-out measurements are made, and what trackers get of the rollouts."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_steps: int = setting(10, least=0)
    """Measure policy and reward model on held-out data every N steps; 0 measures at the end only."""
    rollouts_steps: int = setting(1, least=0)
    """Write the rollouts and pairs of every N-th step to the run folder; 0 writes none, and no held-out completions.
    1,024 completions of 8,192 tokens are about 35 MB a step."""
    heldout_temperature: float = setting(0.7, least=0)
    """Sampling temperature of held-out completions."""
    heldout_top_p: float = setting(0.95, least=0, most=1)
    """Top-p of held-out completions: sample from the likeliest tokens whose probabilities add up to this number."""
    tracked_rollouts: int = setting(8, least=0)
    """Send N rollouts of each step to trackio (as traces) and wandb (as a table), where report_to names them and the
    engine is trl; 0 sends none."""


def check_negative_sources(weights: Mapping[str, float]) -> None:
    """Checks that no negative source has a negative weight, and at least one a positive weight.

    Raises:
        BadInputError: a weight is negative or not finite, or none is positive.
    """
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: a weight must be 0 or more")
    if not any(weight > 0 for weight in weights.values()):
        raise BadInputError(f"negative_sources: {dict(weights)}: give at least one source a positive weight")
