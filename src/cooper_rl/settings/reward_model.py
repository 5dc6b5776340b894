"""The settings of `cooper train-rm`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting
from cooper_rl.settings.typecheck import check_fields, check_given


@dataclass
class TriplesSettings:
    """What is learned from, and what is measured on."""

    HEADING: ClassVar[str] = "Data"

    train_files: list[str] = setting([], "The JSONL files of labelled triples to train on; .gz is read too.")
    eval_files: list[str] = setting(
        [], "The files of held-out triples; without them a share of the training questions is held out."
    )
    heldout_fraction: float = setting(
        0.1, "The share of the questions that is held out where there are no eval_files.", least=0, most=1
    )
    seed: int = setting(0, "The seed of the split, of the order of triples, of augmentation and of a new head.")


@dataclass
class VerifyRMShape:
    """The model that is trained, and what it reads."""

    HEADING: ClassVar[str] = "Model"

    model_name_or_path: str = setting(
        "", "A VerifyRM to train further, or a causal language model that gets a new head: a folder or a hub id."
    )
    output_dir: str = setting("", "The folder for the trained VerifyRM and its model card.")
    max_tokens: int = setting(
        1024, "How many tokens the model reads; a longer completion loses its beginning.", least=1
    )
    with_reference: bool = setting(True, "Whether the model reads the reference answer beside question and completion.")
    lora_rank: int = setting(
        0, "The rank of low-rank adapters, merged into the saved model; 0 trains all weights.", least=0
    )
    lora_alpha: int = setting(0, "The scale of the adapters; 0 means twice their rank.", least=0)


@dataclass
class OptimiserSettings:
    """The steps. Defaults are the released settings: AdamW 2e-5, weight decay 0.01, 3 epochs."""

    HEADING: ClassVar[str] = "Optimiser"

    num_train_epochs: float = setting(3.0, "How many times the triples are gone through.", least=0)
    max_steps: int = setting(-1, "How many optimiser steps are taken; -1 goes by num_train_epochs.")
    per_device_train_batch_size: int = setting(
        32, "How many triples go through the model at a time on each device.", least=1
    )
    gradient_accumulation_steps: int = setting(
        1, "Over how many batches the gradient is added up before the optimiser's step.", least=1
    )
    learning_rate: float = setting(2e-5, "The peak learning rate.", least=0)
    lr_scheduler_type: Literal["cosine", "linear", "constant"] = setting(
        "cosine", "The schedule of the learning rate after its warmup."
    )
    warmup_ratio: float = setting(0.03, "The share of the steps over which the learning rate rises.", least=0, most=1)
    optim: Literal["adamw_torch_fused", "adamw_torch"] = setting(
        "adamw_torch_fused",
        "The optimiser: adamw_torch_fused is faster, adamw_torch rounds as the shipped weights were made.",
    )
    weight_decay: float = setting(0.01, "How strongly AdamW decays the weights.", least=0)
    adam_beta1: float = setting(
        0.9, "How much of its mean of past gradients AdamW keeps at each step.", least=0, most=1
    )
    adam_beta2: float = setting(
        0.999, "How much of its mean of past squared gradients AdamW keeps at each step.", least=0, most=1
    )
    max_grad_norm: float = setting(1.0, "The norm to which the gradient is clipped.", least=0)
    bf16: bool = setting(False, "Whether forward passes are computed in bfloat16; weights stay float32.")
    gradient_checkpointing: bool = setting(
        False, "Whether activations are computed again in the backward pass, to save memory."
    )
    class_balance: bool = setting(False, "Whether right and wrong triples weigh the same in the loss as a whole.")


@dataclass
class AugmentationSettings:
    """Triples that are added to those of the files; each share is drawn with `seed`."""

    HEADING: ClassVar[str] = "Augmentation"

    augment_forms: float = setting(
        0.0, "The share of triples repeated with the reference answer in another form.", least=0, most=1
    )
    augment_alone: float = setting(
        0.0, "The share of triples repeated with nothing but the answer that the completion states.", least=0, most=1
    )
    augment_wrong: float = setting(
        0.0,
        "The share of right triples repeated as wrong ones: with another answer, none, several, or cut off.",
        least=0,
        most=1,
    )
    augment_references: float = setting(
        0.0, "The share of triples repeated with another right completion as the reference answer.", least=0, most=1
    )
    augment_invent: float = setting(0.0, "The share of questions repeated with invented answers.", least=0, most=1)
    augment_choices: float = setting(0.0, "The share of questions repeated as questions of choice.", least=0, most=1)
    augment_working: float = setting(
        0.0,
        "The share of triples repeated with answer and reference answer after another completion's working.",
        least=0,
        most=1,
    )


@dataclass
class CheckpointSettings:
    """When the model is measured and saved."""

    HEADING: ClassVar[str] = "Measuring and saving"

    calibrate: bool = setting(
        False, "Whether a temperature is fitted on the held-out triples and stored with the model."
    )
    eval_steps: int = setting(0, "Held-out triples are measured every so many steps; 0: at the end alone.", least=0)
    early_stopping_patience: int = setting(
        0,
        "Training stops after so many measurements without a better balanced accuracy; 0 never stops early.",
        least=0,
    )
    save_steps: int = setting(0, "A checkpoint for --resume is written every so many steps; 0 writes none.", least=0)
    logging_steps: int = setting(20, "The loss is logged every so many steps.", least=1)


@dataclass
class RewardModelTrainConfig(
    TriplesSettings, VerifyRMShape, OptimiserSettings, AugmentationSettings, CheckpointSettings
):
    """A reward-model training run.

    Raises:
        BadInputError: a setting that is missing, of the wrong type, or in contradiction with another.
    """

    def __post_init__(self) -> None:
        check_fields(self, RewardModelTrainConfig, "train-rm")
        check_given(self, "train-rm", "model_name_or_path", "train_files", "output_dir")
        if self.early_stopping_patience and (not self.eval_steps or self.save_steps % self.eval_steps):
            raise BadInputError("train-rm: early stopping needs eval_steps, and save_steps a multiple of it")
        if self.heldout_fraction == 1:
            raise BadInputError("train-rm: heldout_fraction = 1: leaves nothing to train on; it must be below 1")
