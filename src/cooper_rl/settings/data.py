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
        "The policy is trained on these problems: the name of a set (docs/recipes.md), reasoning_gym:TASK, a hub id or "
        "a JSONL, JSON, CSV or parquet file.",
    )
    dataset_config: str | None = setting(
        None,
        "Training problems are taken from this configuration (subset) of the hub data set; null takes its default.",
    )
    dataset_split: str = setting("train", "Training problems are taken from this split.")
    dataset_size: int | None = setting(
        None, "This many training problems are drawn, with dataset_seed; null takes all.", least=1
    )
    dataset_seed: int = setting(0, "Training and held-out problems are drawn with this seed.")
    reference_column: str | None = setting(
        None,
        "The reference answers are in this column of the file or hub data set (a.b: b in a); null takes the usual names"
        " (docs/recipes.md).",
    )
    system_prompt: str | None = setting(None, "This system message comes before each problem; null means none.")
    rehearsal_triples: str | None = setting(
        None,
        "Stage 2 repeats rehearsal_per_step of these labelled triples at each step: a JSONL file, or nano or"
        " nano-weekdays for shipped ones.",
    )
    variant: str | None = setting(
        None, "The run uses this one of the recipe's variants, by its name; null runs the recipe as it is."
    )


@dataclass
class ModelSettings:
    """The policy, the reward model and the assistant."""

    HEADING: ClassVar[str] = "Models"

    model_name_or_path: str = setting(
        "nano", "This model is the policy: a folder, a hub id, or nano or nano-weekdays for a shipped one."
    )
    reward_model_name_or_path: str | None = setting(
        None,
        "This VerifyRM is the reward model: a folder, a hub id, or a shipped one (nano, nano-weekdays, smollm2-135m, "
        "smollm2-135m-beyond);"
        " every arm but rule needs one.",
    )
    reward_model_type: str = setting(
        "verifyrm",
        "The reward model is of this type: verifyrm, or your own as module:Class, made by"
        " Class.from_pretrained(reward_model_name_or_path).",
    )
    lora_rank: int = setting(
        0, "The policy is trained through low-rank adapters of this rank; 0 trains all its weights.", least=0
    )
    lora_alpha: int = setting(
        0, "The policy's adapters are scaled by this number divided by their rank; 0 means twice the rank.", least=0
    )
    reward_model_lora_rank: int = setting(
        0, "The reward model is trained through low-rank adapters of this rank; 0 trains all its weights.", least=0
    )
    reward_model_lora_alpha: int = setting(
        0,
        "The reward model's adapters are scaled by this number divided by their rank; 0 means twice the rank.",
        least=0,
    )
    assistant_model: str | None = setting(
        None,
        "This model rewrites right completions into wrong ones: a folder or a hub id, or its name on the server "
        "of assistant_base_url; null takes the policy's base model.",
    )
    assistant_base_url: str | None = setting(
        None,
        "The assistant runs on this OpenAI-compatible server, http://HOST:PORT/v1; null runs it in this process.",
    )
    assistant_concurrency: int = setting(
        64, "The assistant's server gets at most this many requests at a time.", least=1
    )
    assistant_timeout_seconds: float = setting(
        60.0, "A request to the assistant's server fails after this many seconds."
    )
    assistant_batch_seconds: float = setting(
        120.0, "A step waits this many seconds for the assistant's server; requests that are not done are left out."
    )


@dataclass
class AnchorSettings:
    """The labelled triples that the guard measures the reward model on."""

    HEADING: ClassVar[str] = "Guard and alarm"

    anchor_triples: str | None = setting(
        None,
        "The guard measures the reward model on these labelled triples after its updates: a JSONL file, or nano "
        "or nano-weekdays for shipped ones; null means no guard.",
    )
    anchor_triples_size: int = setting(
        500,
        "The guard uses this many of the anchor triples, from the first on; with 500 the standard error of their"
        " balanced accuracy is about 0.01.",
        least=1,
    )


@dataclass
class HeldOutSettings:
    """The problems and triples that nothing is trained on."""

    HEADING: ClassVar[str] = "Measuring"

    heldout_dataset_name: str | None = setting(
        None, "True accuracy is measured on these problems, named as in dataset_name; null measures none."
    )
    heldout_dataset_config: str | None = setting(
        None,
        "Held-out problems are taken from this configuration (subset) of the hub data set; null takes its default.",
    )
    heldout_reference_column: str | None = setting(
        None, "The reference answers of held-out problems are in this column; null takes the usual names."
    )
    heldout_dataset_split: str = setting("test", "Held-out problems are taken from this split.")
    heldout_dataset_size: int = setting(256, "This many held-out problems are drawn, with dataset_seed.", least=1)
    heldout_triples: str | None = setting(
        None,
        "The reward model is measured on these labelled triples: a JSONL file, or nano or nano-weekdays for "
        "shipped ones; null measures none.",
    )
    heldout_triples_size: int = setting(1000, "This many of the held-out triples are used, from the first on.", least=1)
