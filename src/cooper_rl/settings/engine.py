"""Settings that only one engine reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cooper_rl.settings.fields import setting


@dataclass
class EngineSettings:
    """What `--engine verl` needs besides the settings that all engines share."""

    HEADING: ClassVar[str] = "Policy and trainer"

    verl: dict[str, Any] = setting(
        {},
        "With --engine verl these settings of verl, by their dotted names, replace what the recipe is translated to, "
        "such as {trainer.n_gpus_per_node: 8, trainer.nnodes: 2}.",
    )
