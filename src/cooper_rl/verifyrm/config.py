"""The settings of `cooper train-rm`; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from cooper_rl.errors import BadInputError


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
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    warmup_ratio: float = 0.03
    lr_scheduler_type: str = "cosine"  # cosine | linear | constant
    max_grad_norm: float = 1.0
    max_tokens: int = 1024
    with_reference: bool = True
    bf16: bool = False
    logging_steps: int = 20

    def __post_init__(self) -> None:
        for name in ("model_name_or_path", "train_files", "output_dir"):
            if not getattr(self, name):
                raise BadInputError(f"train-rm: {name} is not set; give it in the recipe or as --{name}")
        if isinstance(self.train_files, str):
            self.train_files = [self.train_files]
        if isinstance(self.eval_files, str):
            self.eval_files = [self.eval_files]
        if self.lr_scheduler_type not in ("cosine", "linear", "constant"):
            raise BadInputError(f"train-rm: lr_scheduler_type {self.lr_scheduler_type!r}: cosine, linear or constant")
        if not 0 <= self.heldout_fraction < 1:
            raise BadInputError(f"train-rm: heldout_fraction {self.heldout_fraction} is not in [0, 1)")
