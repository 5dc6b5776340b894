"""All settings of a training run, whichever engine trains: data and models, the method, the policy's trainer.

Those of the trainer are fields of TRL's GRPOConfig under the same names: the ones that have a default of Cooper's own,
or that Cooper's checks and `cooper doctor` read. TRL's other fields can be given too (`trl_fields.json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from cooper_rl.errors import BadInputError
from cooper_rl.settings.method import MethodSettings, RunSettings
from cooper_rl.settings.schema import check_fields, groups_of, setting


@dataclass
class DataSettings:
    """The problems that the policy is trained on, and the labelled triples of stage 2."""

    HEADING: ClassVar[str] = "Data"

    dataset_name: str = "nano"
    """Problems to train the policy on: the name of a set (docs/recipes.md), reasoning_gym:TASK, a hub id or a JSONL,
    JSON, CSV or parquet file."""
    dataset_config: str | None = None
    """Configuration (subset) of the hub data set of training problems; null takes its default."""
    dataset_split: str = "train"
    """Split of the training problems."""
    dataset_size: int | None = setting(None, least=1)
    """Number of training problems to draw, with dataset_seed; null takes all."""
    dataset_seed: int = 0
    """Seed for drawing training and held-out problems."""
    reference_column: str | None = None
    """Column of the file or hub data set that has the reference answers (a.b: b in a); null takes the usual names
    (docs/recipes.md)."""
    system_prompt: str | None = None
    """System message before each problem; null means none."""
    rehearsal_triples: str | None = None
    """Labelled triples for stage 2 to rehearse, rehearsal_per_step of them each step: a JSONL file, or nano or
    nano-weekdays for shipped ones."""
    variant: str | None = None
    """Name of the recipe's variant to run; null runs the recipe as it is."""


@dataclass
class ModelSettings:
    """The policy, the reward model and the assistant."""

    HEADING: ClassVar[str] = "Models"

    model_name_or_path: str = "nano"
    """Path or hub id of the policy, or nano or nano-weekdays for a shipped one."""
    reward_model_name_or_path: str | None = None
    """Path or hub id of the reward model, a VerifyRM, or the name of a shipped one (nano, nano-weekdays, smollm2-135m,
    smollm2-135m-beyond). Every arm but rule needs one."""
    reward_model_type: str = "verifyrm"
    """Type of the reward model: verifyrm, or your own as module:Class, made by
    Class.from_pretrained(reward_model_name_or_path)."""
    lora_rank: int = setting(0, least=0)
    """Rank of the policy's low-rank adapters (LoRA); 0 trains all its weights."""
    lora_alpha: int = setting(0, least=0)
    """Scale the policy's adapters by this number divided by lora_rank; 0 means twice the rank."""
    reward_model_lora_rank: int = setting(0, least=0)
    """Rank of the reward model's low-rank adapters (LoRA); 0 trains all its weights."""
    reward_model_lora_alpha: int = setting(0, least=0)
    """Scale the reward model's adapters by this number divided by reward_model_lora_rank; 0 means twice the rank."""
    assistant_model: str | None = None
    """Model that rewrites right completions into wrong ones: a path or hub id, or its name on the server of
    assistant_base_url; null takes the policy's base model."""
    assistant_base_url: str | None = None
    """OpenAI-compatible server of the assistant, http://HOST:PORT/v1; null runs it in this process."""
    assistant_concurrency: int = setting(64, least=1)
    """Maximum number of requests to the assistant's server at a time."""
    assistant_timeout_seconds: float = 60.0
    """Fail a request to the assistant's server after this many seconds."""
    assistant_batch_seconds: float = 120.0
    """Wait up to this many seconds per step for the assistant's server; leave out requests that are not done."""


@dataclass
class AnchorSettings:
    """The labelled triples that the guard measures the reward model on."""

    HEADING: ClassVar[str] = "Guard and alarm"

    anchor_triples: str | None = None
    """Labelled triples on which the guard measures the reward model after its updates: a JSONL file, or nano or
    nano-weekdays for shipped ones; null means no guard."""
    anchor_triples_size: int = setting(500, least=1)
    """Use the first N anchor triples; with 500 the standard error of their balanced accuracy is about 0.01."""


@dataclass
class HeldOutSettings:
    """The problems and triples that nothing is trained on."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_dataset_name: str | None = None
    """Problems to measure true accuracy on, named as in dataset_name; null measures none."""
    heldout_dataset_config: str | None = None
    """Configuration (subset) of the hub data set of held-out problems; null takes its default."""
    heldout_reference_column: str | None = None
    """Column that has the reference answers of held-out problems; null takes the usual names."""
    heldout_dataset_split: str = "test"
    """Split of the held-out problems."""
    heldout_dataset_size: int = setting(256, least=1)
    """Number of held-out problems to draw, with dataset_seed."""
    heldout_triples: str | None = None
    """Labelled triples to measure the reward model on: a JSONL file, or nano or nano-weekdays for shipped ones; null
    measures none."""
    heldout_triples_size: int = setting(1000, least=1)
    """Use the first N held-out triples."""


@dataclass
class PolicySettings(RunSettings):
    """The policy's GRPO step. Where TRL's defaults differ from the paper, the defaults are the paper's."""

    HEADING: ClassVar[str] = "Policy and trainer"

    max_steps: int = -1
    """Number of optimiser steps; -1 trains for num_train_epochs."""
    per_device_train_batch_size: int = setting(16, least=1)
    """Number of completions per forward and backward pass on each device."""
    gradient_accumulation_steps: int = setting(1, least=1)
    """Number of batches to accumulate gradients over before an optimiser step."""
    steps_per_generation: int | None = setting(None, least=1)
    """Number of batches to generate at once; null takes gradient_accumulation_steps, so that each optimiser step gets
    new completions."""
    generation_batch_size: int | None = setting(None, least=1)
    """Number of completions to generate at once on all devices together; set either this or steps_per_generation."""
    num_iterations: int = setting(1, least=1)
    """Number of times to train on each generated batch."""
    max_completion_length: int = setting(512, least=1)
    """Maximum number of tokens in a completion."""
    learning_rate: float = setting(1e-6, least=0)
    """Peak learning rate of the policy."""
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo", "cispo", "sapo", "luspo", "vespo"] = "grpo"
    """Loss to train the policy with, as TRL names it."""
    beta: float = setting(0.001, least=0)
    """Weight of the KL divergence from the reference policy; 0 needs no reference policy."""
    use_bias_correction_kl: bool = False
    """Correct the KL estimate by the importance ratio; false is the plain k3 estimate."""
    bf16: bool | None = None
    """Compute forward passes in bfloat16; weights stay float32. null is true on a GPU that has it, and turns on TF32
    for the float32 products there; elsewhere, and with the engine plain, null is false."""
    gradient_checkpointing: bool | None = None
    """Recompute activations in the backward pass, which saves memory and takes longer; null means false."""
    logging_steps: float = setting(1, least=0)
    """Log metrics every N steps."""
    save_steps: float = setting(500, least=0)
    """Save a checkpoint every N steps."""
    save_total_limit: int | None = setting(2, least=2)
    """Maximum number of checkpoints to keep; 2 or more, since a kill may cut off the last one; null keeps all."""
    report_to: str | list[str] = "none"
    """Trackers to send metrics to, named as in TRL, in addition to the run folder."""
    disable_tqdm: bool | None = True
    """Turn off the trainer's progress bar."""

    def check_policy(self) -> None:
        """Checks the types and ranges of these fields.

        Raises:
            BadInputError: a value of the wrong type or out of its range, or a run without steps.
        """
        check_fields(self, PolicySettings)
        if self.max_steps == 0:
            raise BadInputError("max_steps = 0: set the number of steps, or -1 for num_train_epochs")

    @property
    def generation_batches(self) -> int:
        """How many batches of `per_device_train_batch_size` each device generates at once."""
        return self.steps_per_generation or self.gradient_accumulation_steps

    @property
    def generation_batch(self) -> int:
        """Completions generated at once: on all devices if `generation_batch_size` is set, else on each."""
        return self.generation_batch_size or self.per_device_train_batch_size * self.generation_batches

    def check_groups(self) -> None:
        """Refuses a group size that does not divide the generation batch.

        Raises:
            BadInputError: the generation batch is not a multiple of `num_generations`.
        """
        if self.generation_batch % self.num_generations:
            raise BadInputError(
                "the generation batch (per_device_train_batch_size x steps_per_generation ="
                f" {self.generation_batch}) is not a multiple of num_generations = {self.num_generations}"
            )


@dataclass
class TrainRecipe(DataSettings, ModelSettings, AnchorSettings, HeldOutSettings):
    """A run's data and models: what it needs besides the settings of the method and the trainer."""

    HEADING: ClassVar[str] = "Policy and trainer"

    verl: dict[str, Any] = setting({})
    """With --engine verl: settings of verl by dotted names, which override what the recipe is translated to, such as
    {trainer.n_gpus_per_node: 8, trainer.nnodes: 2}."""

    def __post_init__(self) -> None:
        check_fields(self, TrainRecipe)


@dataclass
class TrainerSettings(MethodSettings, PolicySettings):
    """The settings that an engine reads: those of the method and of the policy's trainer."""


@dataclass
class TrainSettings(TrainRecipe, TrainerSettings):
    """A training recipe, resolved and checked. `trainer_kwargs` holds the fields of GRPOConfig that are not Cooper's.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    trainer_kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        TrainRecipe.__post_init__(self)
        self.resolve()
        self.check_policy()

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> Self:
        """The settings of a recipe. Keys that are not Cooper's go into `trainer_kwargs`."""
        own = {item.name for _, group in groups_of(cls) for item in group}
        others = {key: value for key, value in recipe.items() if key not in own}
        return cls(**{key: value for key, value in recipe.items() if key in own}, trainer_kwargs=others)

    def trainer_settings(self) -> dict[str, Any]:
        """The arguments of `CooperConfig`: the fields of the method and the policy, and TRL's other fields."""
        own = {item.name: getattr(self, item.name) for item in fields(TrainerSettings)}
        return {**own, **self.trainer_kwargs}
