"""All settings of a training run, whichever engine trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from cooper_rl.settings.data import AnchorSettings, DataSettings, HeldOutSettings, ModelSettings
from cooper_rl.settings.engine import EngineSettings
from cooper_rl.settings.fields import groups_of
from cooper_rl.settings.method import MethodSettings
from cooper_rl.settings.policy import PolicySettings
from cooper_rl.settings.typecheck import check_fields


@dataclass
class TrainRecipe(DataSettings, ModelSettings, AnchorSettings, HeldOutSettings, EngineSettings):
    """A run's data and models: what it needs besides the settings of the method and the trainer."""

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
