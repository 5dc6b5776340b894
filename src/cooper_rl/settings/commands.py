"""Which settings each command's recipe may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cooper_rl.settings.evaluation import EvalConfig
from cooper_rl.settings.fields import groups_of, types_of
from cooper_rl.settings.labelling import AnnotateConfig, CollectConfig
from cooper_rl.settings.reward_model import RewardModelTrainConfig
from cooper_rl.settings.serve import ServeSettings
from cooper_rl.settings.train import TrainSettings

CONFIGS: dict[str, type[Any]] = {
    "train": TrainSettings,
    "serve": ServeSettings,
    "train-rm": RewardModelTrainConfig,
    "collect": CollectConfig,
    "annotate": AnnotateConfig,
    "eval": EvalConfig,
}


def takes_training_recipe(command: str) -> bool:
    """Whether the command's recipe is a training recipe, in which TRL's fields may stand too."""
    return issubclass(CONFIGS[command], TrainSettings)


def known_keys(command: str) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """The keys that a recipe of this command may have, each with its type and its field's metadata.

    Of a training recipe these are also the fields of TRL's GRPOConfig, in TRL's types, without metadata.
    """
    cls = CONFIGS[command]
    kinds = types_of(cls)
    own: dict[str, tuple[Any, Mapping[str, Any]]] = {
        item.name: (kinds[item.name], item.metadata) for _, group in groups_of(cls) for item in group
    }
    if not takes_training_recipe(command):
        return own
    from cooper_rl.settings.trl_fields import FIELDS

    return {**{name: (kind, {}) for name, kind in FIELDS.items()}, **own}
