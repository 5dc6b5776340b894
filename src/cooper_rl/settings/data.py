"""Where problems and models come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.fields import setting


@dataclass
class DataSettings:
    """The problems that the policy is trained on, and the labelled triples of stage 2."""

    HEADING: ClassVar[str] = "Data"

    dataset_name: str = setting(
        "nano",
        "The training problems: a set's name (docs/recipes.md), reasoning_gym:TASK, a hub id, or a JSONL, JSON or "
        "parquet file.",
    )
    dataset_split: str = setting("train", "The split of the training problems.")
    dataset_size: int | None = setting(
        None, "How many training problems are drawn, with dataset_seed; null takes all.", least=1
    )
    dataset_seed: int = setting(0, "The seed of the problems that are drawn, held-out ones included.")
    system_prompt: str | None = setting(None, "A system message before each problem; null gives none.")
    rehearsal_triples: str | None = setting(
        None,
        "Labelled triples that stage 2 rehearses (rehearsal_per_step): a JSONL file, or nano for the shipped ones.",
    )
    variant: str | None = setting(None, "Which of the recipe's variants is run; a variant is settings under a name.")


@dataclass
class ModelSettings:
    """The policy, the reward model and the assistant."""

    HEADING: ClassVar[str] = "Models"

    model_name_or_path: str = setting("nano", "The policy: a folder, a hub id, or nano for the shipped one.")
    reward_model_name_or_path: str | None = setting(
        None, "The VerifyRM: a folder, a hub id, or nano for the shipped one; every arm but rule needs one."
    )
    lora_rank: int = setting(0, "The rank of low-rank adapters on the policy; 0 trains all its weights.", least=0)
    lora_alpha: int = setting(0, "The scale of the policy's adapters; 0 means twice their rank.", least=0)
    reward_model_lora_rank: int = setting(
        0, "The rank of low-rank adapters on the reward model; 0 trains all its weights.", least=0
    )
    reward_model_lora_alpha: int = setting(
        0, "The scale of the reward model's adapters; 0 means twice their rank.", least=0
    )
    assistant_model: str | None = setting(
        None,
        "The assistant that rewrites right completions into wrong ones: a folder or a hub id, or its name on the "
        "server of assistant_base_url; null takes the policy's base model.",
    )
    assistant_base_url: str | None = setting(
        None, "The assistant's OpenAI-compatible server, http://HOST:PORT/v1; null runs it in this process."
    )
    assistant_concurrency: int = setting(64, "How many requests the assistant's server gets at a time.", least=1)
    assistant_timeout_seconds: float = setting(60.0, "How long one request to the assistant's server may take.")
    assistant_batch_seconds: float = setting(
        120.0, "How long all of a step's requests to the assistant's server may take; what is late is left out."
    )


@dataclass
class AnchorSettings:
    """The labelled triples that the guard measures the reward model on."""

    HEADING: ClassVar[str] = "Guard and alarm"

    anchor_triples: str | None = setting(
        None,
        "Labelled triples on which the guard measures the reward model after its updates: a JSONL file, or nano for "
        "the shipped ones; null means no guard.",
    )
    anchor_triples_size: int = setting(1000, "How many of the anchor triples are used, from the first on.", least=1)


@dataclass
class HeldOutSettings:
    """The problems and triples that nothing is trained on."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_dataset_name: str | None = setting(
        None, "Problems on which true accuracy is measured, named as in dataset_name; null measures none."
    )
    heldout_dataset_split: str = setting("test", "The split of the held-out problems.")
    heldout_dataset_size: int = setting(256, "How many held-out problems are drawn, with dataset_seed.", least=1)
    heldout_triples: str | None = setting(
        None,
        "Labelled triples on which the reward model is measured: a JSONL file, or nano for the shipped ones; null "
        "measures none.",
    )
    heldout_triples_size: int = setting(1000, "How many of the held-out triples are used, from the first on.", least=1)
