"""The settings that `cooper collect`, `annotate` and `eval` share: how language models are asked for completions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.fields import setting


@dataclass(kw_only=True)
class BackendSettings:
    """How models are asked. All fields but `batch_size` apply to servers; `batch_size` to models in this process."""

    HEADING: ClassVar[str] = "Asking models"

    concurrency: int = setting(16, "A server gets at most this many requests at a time.", least=1)
    timeout_seconds: float = setting(120.0, "A request to a server fails after this many seconds.")
    retries: int = setting(
        4, "A failed request is sent again up to this many times, each time after a longer pause.", least=0
    )
    api_key_env: str = setting("OPENAI_API_KEY", "A server's key is read from this environment variable.")
    batch_size: int = setting(32, "A model in this process completes this many prompts at a time.", least=1)


@dataclass(kw_only=True)
class AskingConfig(BackendSettings):
    """How models are asked, and when a command stops because a server does not answer."""

    HEADING: ClassVar[str] = "Asking models"

    stop_after_failures: int = setting(
        16, "The command stops after this many failed records in a row, since the server seems to be down.", least=1
    )


@dataclass(kw_only=True)
class SamplingSettings:
    """How completions are drawn. The defaults are the paper's evaluation protocol."""

    HEADING: ClassVar[str] = "Sampling"

    temperature: float = setting(0.7, "Completions are sampled at this temperature.", least=0)
    top_p: float = setting(
        0.95,
        "Completions are sampled from the likeliest tokens whose probabilities add up to this number (top-p).",
        least=0,
        most=1,
    )
    seed: int = setting(0, "Completions are sampled with this seed.")
    dataset_seed: int = setting(0, "Problems are drawn with this seed.")
