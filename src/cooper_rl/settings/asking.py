"""How language models are asked for completions: `cooper collect`, `annotate` and `eval` share these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.fields import setting


@dataclass(kw_only=True)
class BackendSettings:
    """How a back end is asked; all but `batch_size` are for servers."""

    HEADING: ClassVar[str] = "Asking models"

    concurrency: int = setting(16, "How many requests a server gets at a time.", least=1)
    timeout_seconds: float = setting(120.0, "How long one request to a server may take.")
    retries: int = setting(4, "How often a failed request is sent again, after longer and longer pauses.", least=0)
    api_key_env: str = setting("OPENAI_API_KEY", "The environment variable that holds a server's key.")
    batch_size: int = setting(32, "How many prompts a model in this process completes at a time.", least=1)


@dataclass(kw_only=True)
class AskingConfig(BackendSettings):
    """How models are asked, and when a server is taken for gone."""

    HEADING: ClassVar[str] = "Asking models"

    stop_after_failures: int = setting(
        16, "After how many failed records in a row a server is taken for gone and the command stops.", least=1
    )


@dataclass(kw_only=True)
class SamplingSettings:
    """How completions are drawn. The defaults are the paper's evaluation protocol."""

    HEADING: ClassVar[str] = "Sampling"

    temperature: float = setting(0.7, "The temperature of sampling.", least=0)
    top_p: float = setting(0.95, "The share of probability that sampling draws from.", least=0, most=1)
    seed: int = setting(0, "The seed of sampling.")
    dataset_seed: int = setting(0, "The seed with which problems are drawn.")
