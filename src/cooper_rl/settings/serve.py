"""The settings of `cooper serve`: a training recipe's, and those of the server."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.schema import check_fields, setting
from cooper_rl.settings.train import TrainSettings


@dataclass(kw_only=True)
class ServerSettings:
    """Where the server listens, when it learns, and what it refuses."""

    HEADING: ClassVar[str] = "Server"

    host: str = "127.0.0.1"
    """Address to listen on; any but this machine's own needs the token of token_env."""
    port: int = setting(8700, least=0, most=65535)
    """Port to listen on; 0 takes any free one."""
    token_env: str = "COOPER_SERVE_TOKEN"
    """Environment variable that holds a token. If it is set, every request but /health must carry it as a bearer
    token."""
    learn: Literal["complete", "asked"] = "complete"
    """When to learn from a batch: complete (as soon as it is complete, before any later call is scored) or asked (when
    POST /learn asks)."""
    gather_samples: int = setting(0, least=0)
    """Number of samples that complete a batch gathered by the server from single calls; 0 takes the recipe's generation
    batch."""
    max_batch_samples: int = setting(4096, least=1)
    """Maximum number of samples in a batch."""
    max_open_batches: int = setting(256, least=1)
    """Maximum number of batches that are begun and not complete."""
    max_characters: int = setting(200_000, least=1)
    """Maximum number of characters in a text of a sample."""
    max_body_megabytes: int = setting(32, least=1)
    """Maximum size of a request's body in megabytes."""
    max_waiting: int = setting(512, least=1)
    """Maximum number of calls that wait for an answer; others get status 429."""
    body_seconds: float = setting(20.0, least=0)
    """Maximum time in seconds for a request's header and body to arrive."""
    wait_seconds: float = setting(600.0, least=0)
    """Answer a call that takes longer than this many seconds with status 503; its work goes on."""


@dataclass(kw_only=True)
class ServeSettings(TrainSettings, ServerSettings):
    """A training recipe with the server's settings.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self, ServerSettings)

    @property
    def gathered(self) -> int:
        """How many samples a batch has that the server gathers."""
        return self.gather_samples or self.generation_batch


def check_server_settings(settings: ServeSettings) -> str:
    """Refuses what a server cannot have, and gives its token.

    Raises:
        BadInputError: with the setting and the way out.
    """
    token = os.environ.get(settings.token_env, "") if settings.token_env else ""
    if not is_local(settings.host) and not token:
        raise BadInputError(
            f"host {settings.host}: other machines can reach it; set a token in the environment variable"
            f" {settings.token_env or 'that token_env names'}, or serve on 127.0.0.1"
        )
    if settings.reward_model_sharded:
        raise BadInputError("reward_model_sharded: the server is one process; set it to false")
    if settings.credit != "outcome":
        raise BadInputError(f"credit = {settings.credit}: the server gives rewards of whole completions; set outcome")
    schedule = settings.reward_model_lr_scheduler_type
    if settings.cotrain and settings.max_steps < 1 and not schedule.startswith("constant"):
        raise BadInputError(
            f"max_steps = {settings.max_steps}: the schedule {schedule} needs the number of batches that will be"
            " learned; set max_steps, or reward_model_lr_scheduler_type to constant_with_warmup"
        )
    return token


def is_local(host: str) -> bool:
    """Whether an address is this machine's own, which no other machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
