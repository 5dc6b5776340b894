"""The settings of `cooper train-rm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting
from cooper_rl.settings.typecheck import check_fields, check_given


@dataclass
class FilesSettings:
    """The model, its training and held-out data, and its output folder."""

    HEADING: ClassVar[str] = "Model and data"

    model_name_or_path: str = setting(
        "", "This model is trained: a VerifyRM, or a causal language model that gets a new head; a folder or a hub id."
    )
    train_files: list[str] = setting(
        [],
        "The model is trained on the labelled triples of these files (JSONL, JSON, CSV, also .gz, or parquet) or hub "
        "data sets.",
    )
    output_dir: str = setting("", "The trained VerifyRM and its model card go into this folder.")
    eval_files: list[str] = setting(
        [],
        "The model is measured on the triples of these files or hub data sets; without them a share of the training "
        "questions is held out.",
    )
    heldout_fraction: float = setting(
        0.1, "This share of the questions is held out where there are no eval_files.", least=0, most=1
    )
    heldout_size: int = setting(
        0, "At most this many of the held-out triples are measured, drawn at random; 0 takes all.", least=0
    )
    train_sizes: list[int] = setting(
        [],
        "At most this many triples of each of the train_files are drawn, in the files' order; 0 takes all of a file, "
        "and an empty list all of each.",
    )
    train_right_share: float = setting(
        0.5, "At most this share of a size in train_sizes is drawn of the right triples.", least=0, most=1
    )
    seed: int = setting(0, "The split, the order of triples, augmentation and a new head are drawn with this seed.")


@dataclass(kw_only=True)
class ReadingSettings:
    """The model's input, and which of its weights are trained."""

    HEADING: ClassVar[str] = "Input and weights"

    max_tokens: int = setting(
        1024, "The model reads at most this many tokens; a longer completion loses its beginning.", least=1
    )
    with_reference: bool = setting(
        True, "True lets the model read the reference answer as well as the question and the completion."
    )
    lora_rank: int = setting(
        0, "The model is trained through low-rank adapters of this rank; 0 trains all weights.", least=0
    )
    merge_adapters: bool = setting(
        True,
        "True merges the adapters into the saved model. False saves the adapters alone, a few megabytes, which are "
        "loaded on the model that they were trained on.",
    )
    frozen_layers: int = setting(
        0,
        "The embeddings and this many of the first layers are not trained; a step takes a third less time where it is "
        "half of the layers.",
        least=0,
    )
    adapters_rank: int = setting(
        0,
        "The head and what training has changed in the linear layers are saved as adapters of this rank, which are "
        "its best approximation; 0 saves all weights.",
        least=0,
    )
    adapters_base: str = setting(
        "",
        "The adapters of adapters_rank go on this model; by default on the one that training began with, or on its own "
        "base where it has adapters.",
    )
    lora_alpha: int = setting(
        0, "The adapters are scaled by this number divided by their rank; 0 means twice the rank.", least=0
    )


@dataclass(kw_only=True)
class OptimiserSettings:
    """The optimiser's steps. The defaults are the released settings: AdamW 2e-5, weight decay 0.01, 3 epochs."""

    HEADING: ClassVar[str] = "Optimiser"

    num_train_epochs: float = setting(3.0, "The model is trained for this many passes over the triples.", least=0)
    max_steps: int = setting(-1, "This many optimiser steps are taken; -1 lets num_train_epochs decide.")
    per_device_train_batch_size: int = setting(
        32, "This many triples go through the model at a time on each device.", least=1
    )
    gradient_accumulation_steps: int = setting(
        1, "The gradient is summed over this many batches before the optimiser's step.", least=1
    )
    learning_rate: float = setting(2e-5, "The learning rate peaks at this value.", least=0)
    lr_scheduler_type: Literal["cosine", "linear", "constant"] = setting(
        "cosine", "The learning rate follows this schedule after its warmup."
    )
    warmup_ratio: float = setting(0.03, "The learning rate rises from 0 over this share of the steps.", least=0, most=1)
    optim: Literal["adamw_torch_fused", "adamw_torch"] = setting(
        "adamw_torch_fused",
        "This optimiser is used: adamw_torch_fused is faster; the shipped weights were made with adamw_torch.",
    )
    weight_decay: float = setting(0.01, "AdamW's weight decay has this coefficient.", least=0)
    adam_beta1: float = setting(
        0.9, "AdamW's running mean of the gradients decays by this factor at each step (beta 1).", least=0, most=1
    )
    adam_beta2: float = setting(
        0.999,
        "AdamW's running mean of the squared gradients decays by this factor at each step (beta 2).",
        least=0,
        most=1,
    )
    max_grad_norm: float = setting(1.0, "The gradient is clipped to this norm.", least=0)
    bf16: bool = setting(False, "True computes forward passes in bfloat16; weights stay float32.")
    gradient_checkpointing: bool = setting(
        False, "True recomputes activations in the backward pass, which saves memory but takes longer."
    )
    class_balance: bool = setting(
        False, "True weights the loss so that right and wrong triples count the same, however many there are of each."
    )
    prefix_weight: float = setting(
        0.0,
        "The loss of the prefixes that end with each step is added to that of the whole with this weight; 0 leaves it "
        "out. A prefix has the label of the whole, or is wrong from the record's first_error on. Where augment_wrong "
        "changes a number, the step that has it is the first error.",
        least=0,
    )
    prefix_margin: float = setting(
        0.0,
        "The loss of the prefixes also asks that each right one of a completion has a logit higher by this than each "
        "wrong one; 0 leaves this out. Only records with first_error have both.",
        least=0,
    )
    prefix_steps: Literal["line", "sentence"] = setting(
        "line", "These are the steps of a completion for the loss of prefixes, unless its record has steps."
    )


@dataclass(kw_only=True)
class AugmentationSettings:
    """Shares of the triples that are repeated in a changed form. Each share is drawn with `seed`."""

    HEADING: ClassVar[str] = "Augmentation"

    augment_forms: float = setting(
        0.0, "This share of the triples is repeated with the reference answer in another form.", least=0, most=1
    )
    augment_alone: float = setting(
        0.0,
        "This share of the triples is repeated with the completion cut down to the answer that it states.",
        least=0,
        most=1,
    )
    augment_wrong: float = setting(
        0.0,
        "This share of the right triples is repeated as wrong ones: with another answer, without an answer, with"
        " several answers, or cut off.",
        least=0,
        most=1,
    )
    augment_references: float = setting(
        0.0,
        "This share of the triples is repeated with another right completion as the reference answer.",
        least=0,
        most=1,
    )
    augment_invent: float = setting(
        0.0, "This share of the questions is repeated with invented answers.", least=0, most=1
    )
    augment_choices: float = setting(
        0.0, "This share of the questions is repeated as multiple-choice questions.", least=0, most=1
    )
    augment_working: float = setting(
        0.0,
        "This share of the triples is repeated with answer and reference answer put after the reasoning of another"
        " completion.",
        least=0,
        most=1,
    )
    augment_aliases: float = setting(
        0.0,
        "This share of the triples with aliases is repeated with one of them as the reference answer.",
        least=0,
        most=1,
    )
    augment_counterfactual: float = setting(
        0.0,
        "This share of the triples of each file is repeated under a wrong reference answer, that of another question, "
        "and labelled wrong; right completions come first.",
        least=0,
        most=1,
    )
    augment_mentions: float = setting(
        0.0,
        "This share of the triples is repeated with a made-up completion that names the right answer and another "
        "question's; it is right where it settles on the right one.",
        least=0,
        most=1,
    )


@dataclass(kw_only=True)
class CheckpointSettings:
    """When the model is measured and saved."""

    HEADING: ClassVar[str] = "Measuring and saving"

    calibrate: bool = setting(False, "True fits a temperature on the held-out triples and stores it with the model.")
    eval_steps: int = setting(
        0, "This many steps pass from one held-out measurement to the next; 0 measures at the end only.", least=0
    )
    early_stopping_patience: int = setting(
        0,
        "Training stops after this many measurements without a better balanced accuracy; 0 never stops early.",
        least=0,
    )
    save_steps: int = setting(
        0, "This many steps pass from one checkpoint for --resume to the next; 0 writes none.", least=0
    )
    logging_steps: int = setting(20, "This many steps pass from one logged loss to the next.", least=1)


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
