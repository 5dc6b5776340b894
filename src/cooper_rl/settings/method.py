"""The settings of the method itself: of both stages, the guard, the alarm and the measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cooper_rl.errors import BadInputError
from cooper_rl.settings.credit import VALUED_BY_MODEL, CreditSettings
from cooper_rl.settings.policy import RunSettings
from cooper_rl.settings.reward import Arm, RewardSettings, resolve_arm
from cooper_rl.settings.stage2 import (
    AlarmSettings,
    GuardSettings,
    MeasuringSettings,
    PairSettings,
    UpdateSettings,
    check_negative_sources,
)
from cooper_rl.settings.typecheck import check_fields


@dataclass
class MethodSettings(
    RunSettings,
    RewardSettings,
    CreditSettings,
    PairSettings,
    UpdateSettings,
    GuardSettings,
    AlarmSettings,
    MeasuringSettings,
):
    """All settings that Cooper adds to GRPO. The constructor sets `arm`, `reward` and `cotrain` so that they agree.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    def __post_init__(self) -> None:
        self.resolve()

    def resolve(self) -> None:
        """Fills in arm, reward and cotrain, and checks every field of the method."""
        arm, self.reward, self.cotrain = resolve_arm(self.arm, self.reward, self.cotrain)
        self.arm = cast(Arm | None, arm)
        check_fields(self, MethodSettings)
        check_negative_sources(self.negative_sources)
        if self.reward_model_sharded and (self.prefix_weight or self.credit in VALUED_BY_MODEL):
            raise BadInputError("reward_model_sharded: a sharded reward model values no steps; set it to false")

    @property
    def needs_reward_model(self) -> bool:
        """Whether the run needs a reward model: for the reward, the steps' credit, or because it is co-trained."""
        return self.reward != "rule" or self.cotrain or self.credit in VALUED_BY_MODEL

    @property
    def asks_assistant(self) -> bool:
        """Whether stage 2 takes wrong rewrites from a language model."""
        return self.cotrain and self.negative_sources.get("assistant", 0) > 0
