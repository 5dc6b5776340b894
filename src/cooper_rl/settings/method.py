"""The settings of the method itself: of both stages, the guard, the alarm and the measurements."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import Any, cast

from cooper_rl.errors import BadInputError
from cooper_rl.settings.counterfactual import CounterfactualSettings, check_counterfactual
from cooper_rl.settings.credit import VALUED_BY_MODEL, CreditSettings
from cooper_rl.settings.policy import RunSettings
from cooper_rl.settings.reward import Arm, RewardSettings, overlaid, resolve_arm
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
class CooperSettings(
    RewardSettings,
    CreditSettings,
    PairSettings,
    UpdateSettings,
    CounterfactualSettings,
    GuardSettings,
    AlarmSettings,
    MeasuringSettings,
):
    """The settings that Cooper adds to GRPO. None of them is the trainer's.

    The constructor sets `arm`, `reward` and `cotrain` so that they agree.

    Raises:
        BadInputError: a value of the wrong type or out of its range, or an arm that contradicts the reward.
    """

    def __post_init__(self) -> None:
        self.resolve()

    @classmethod
    def given(cls, settings: CooperSettings | None = None, **chosen: Any) -> CooperSettings:
        """Settings by keyword, on top of `settings` where these are given, which may be those of a whole run.

        Raises:
            BadInputError: there is no setting of this name; the message suggests the nearest.
        """
        names = [item.name for item in fields(CooperSettings)]
        for name in chosen:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                raise BadInputError(f"no setting {name!r}{f'; did you mean {near[0]!r}?' if near else ''}")
        own = {name: getattr(settings, name) for name in names} if settings is not None else {}
        return CooperSettings(**overlaid(own, chosen))

    def resolve(self) -> None:
        """Fills in arm, reward and cotrain, and checks every field of the method."""
        arm, self.reward, self.cotrain = resolve_arm(self.arm, self.reward, self.cotrain)
        self.arm = cast(Arm | None, arm)
        check_fields(self, CooperSettings)
        check_negative_sources(self.negative_sources)
        check_counterfactual(self)
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


@dataclass
class MethodSettings(RunSettings, CooperSettings):
    """The method's settings in a run: they come with what the run tells it, its folder, seed and size of a group."""

    def resolve(self) -> None:
        """As that of `CooperSettings`."""
        super().resolve()
        check_fields(self, RunSettings)
