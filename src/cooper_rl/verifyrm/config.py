"""The settings of `cooper train-rm`; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from cooper_rl.errors import BadInputError
from cooper_rl.settings.recipe import as_list


@dataclass
class RewardModelTrainConfig:
    """A reward-model training run. Defaults are the released settings (AdamW 2e-5, weight decay 0.01, 3 epochs)."""

    model_name_or_path: str = ""  # a causal language model (a new head is put on it) or a VerifyRM
    train_files: list[str] = field(default_factory=list)
    output_dir: str = ""
    eval_files: list[str] = field(default_factory=list)  # instead of a split of the training files
    heldout_fraction: float = 0.1  # of the questions
    seed: int = 0
    num_train_epochs: float = 3.0
    max_steps: int = -1
    per_device_train_batch_size: int = 32
    learning_rate: float = 2e-5
    optim: str = "adamw_torch_fused"  # one pass over memory a step | adamw_torch: other rounding, a slower step
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    warmup_ratio: float = 0.03
    lr_scheduler_type: str = "cosine"  # cosine | linear | constant
    max_grad_norm: float = 1.0
    max_tokens: int = 1024
    with_reference: bool = True
    bf16: bool = False
    gradient_accumulation_steps: int = 1
    gradient_checkpointing: bool = False
    lora_rank: int = 0  # 0: all weights; else low-rank adapters, merged into the saved model
    lora_alpha: int = 0  # 0: twice the rank
    class_balance: bool = False  # right ones weigh as much as wrong ones
    augment_forms: float = 0.0  # share of triples that come again with the reference answer in another form
    augment_alone: float = 0.0  # share of triples that come again with nothing but the answer that they state
    augment_wrong: float = 0.0  # share of right ones that come again spoilt: another answer, none, several, cut off
    augment_references: float = 0.0  # share that comes again with another right completion in the reference's place
    augment_invent: float = 0.0  # share of questions that come again with invented answers
    augment_choices: float = 0.0  # share of questions that come again as questions of choice
    augment_working: float = 0.0  # share that comes again with answer and reference after somebody else's working
    calibrate: bool = False  # fit a temperature on the held-out triples and store it with the model
    eval_steps: int = 0  # measure the held-out triples every so many steps
    early_stopping_patience: int = 0  # stop after so many measurements without a better balanced accuracy
    save_steps: int = 0  # a checkpoint every so many steps, for --resume
    logging_steps: int = 20

    def __post_init__(self) -> None:
        for name in ("model_name_or_path", "train_files", "output_dir"):
            if not getattr(self, name):
                raise BadInputError(f"train-rm: {name} is not set; give it in the recipe or as --{name}")
        self.train_files, self.eval_files = as_list(self.train_files), as_list(self.eval_files)
        if self.lr_scheduler_type not in ("cosine", "linear", "constant"):
            raise BadInputError(f"train-rm: lr_scheduler_type {self.lr_scheduler_type!r}: cosine, linear or constant")
        if self.optim not in ("adamw_torch_fused", "adamw_torch"):
            raise BadInputError(f"train-rm: optim {self.optim!r}: adamw_torch_fused or adamw_torch")
        if self.early_stopping_patience and (not self.eval_steps or self.save_steps % self.eval_steps):
            raise BadInputError("train-rm: early stopping needs eval_steps, and save_steps a multiple of it")
        for name in (name for name in vars(self) if name.startswith("augment_")):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInputError(f"train-rm: {name} {getattr(self, name)} is not in [0, 1]")
        if not 0 <= self.heldout_fraction < 1:
            raise BadInputError(f"train-rm: heldout_fraction {self.heldout_fraction} is not in [0, 1)")
