"""How language models are asked for completions: `cooper collect`, `annotate` and `eval` share these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cooper_rl.settings.fields import setting


@dataclass(kw_only=True)
class BackendSettings:
    """How a back end is asked; all but `batch_size` are for servers."""

    HEADING: ClassVar[str] = "Asking models"

    concurrency: int = setting(16, "A server gets at most this many requests at a time.", least=1)
    timeout_seconds: float = setting(120.0, "One request to a server may take this long.")
    retries: int = setting(
        4, "A failed request is sent again up to this many times, after longer and longer pauses.", least=0
    )
    api_key_env: str = setting("OPENAI_API_KEY", "A server's key is read from this environment variable.")
    batch_size: int = setting(32, "A model in this process completes this many prompts at a time.", least=1)


@dataclass(kw_only=True)
class AskingConfig(BackendSettings):
    """How models are asked, and when a server is taken for gone."""

    HEADING: ClassVar[str] = "Asking models"

    stop_after_failures: int = setting(
        16, "A server is taken for gone, and the command stops, after this many failed records in a row.", least=1
    )


@dataclass(kw_only=True)
class SamplingSettings:
    """How completions are drawn. The defaults are the paper's evaluation protocol."""

    HEADING: ClassVar[str] = "Sampling"

    temperature: float = setting(0.7, "Completions are sampled at this temperature.", least=0)
    top_p: float = setting(
        0.95,
        "Completions are sampled from the likeliest tokens that have this share of the probability.",
        least=0,
        most=1,
    )
    seed: int = setting(0, "Completions are sampled with this seed.")
    dataset_seed: int = setting(0, "Problems are drawn with this seed.")
