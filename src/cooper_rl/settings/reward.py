"""The policy's reward and the names of its pairs with co-training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cooper_rl.errors import BadInputError
from cooper_rl.settings.fields import setting
from cooper_rl.settings.verifier import VerifierSettings

Arm = Literal["rule", "static", "cooper", "hybrid", "hybrid+cotrain", "rule+cotrain"]
ARMS: dict[str, tuple[str, bool]] = {  # what an arm's name stands for: (reward, cotrain)
    "rule": ("rule", False),
    "static": ("score", False),
    "cooper": ("score", True),
    "hybrid": ("hybrid", False),
    "hybrid+cotrain": ("hybrid", True),
    "rule+cotrain": ("rule", True),
}
DEFAULT_ARM = "cooper"
GIVEN_BY_ANOTHER: Any = None  # of arm, reward and cotrain, until `resolve_arm` has filled in all three


@dataclass
class RewardSettings(VerifierSettings):
    """Stage 1: what a completion is rewarded for."""

    HEADING: ClassVar[str] = "Reward (stage 1)"

    arm: Arm | None = setting(
        GIVEN_BY_ANOTHER,
        "An arm is a name for a pair of reward and cotrain: rule (rule, false), static (score, false), cooper "
        "(score, true), hybrid (hybrid, false), hybrid+cotrain or rule+cotrain. Without one, reward and cotrain "
        "decide; without any of the three it is cooper.",
    )
    reward: str = setting(
        GIVEN_BY_ANOTHER,
        "A completion is rewarded by rule (1 where the verifier says CORRECT, else 0), by score (that of the "
        "reward model), by hybrid (1 where the verifier says CORRECT, else the score), or by your own as "
        "module:Class. Without it, the arm says.",
    )
    cotrain: bool = setting(
        GIVEN_BY_ANOTHER,
        "True trains the reward model along with the policy (stage 2). Without it, the arm says.",
    )
    reward_threshold: float | None = setting(
        None, "A score above this number is rewarded with 1 and any other with 0; null rewards with the score itself."
    )
    verifier_deadline_seconds: float = setting(5.0, "The verifier may take this long for one completion.")


def resolve_arm(
    arm: str | None, reward: str | None, cotrain: bool | None, source: str = ""
) -> tuple[str | None, str, bool]:
    """(arm, reward, cotrain) from those that are given; the default is `cooper`. A reward of one's own has no arm.

    Args:
        source: who gives them, for the message.

    Raises:
        BadInputError: an unknown arm, or an arm that contradicts the reward or cotrain beside it.
    """
    where = f"{source}: " if source else ""
    if arm is not None and arm not in ARMS:
        raise BadInputError(f"{where}arm: {arm!r} is not one of {', '.join(ARMS)}")
    of_arm, trained = ARMS[arm or DEFAULT_ARM]
    if arm is None:
        pair = (of_arm if reward is None else reward, trained if cotrain is None else cotrain)
        return next((name for name, value in ARMS.items() if value == pair), None), *pair
    for key, value, own in (("reward", reward, of_arm), ("cotrain", cotrain, trained)):
        if value is not None and value != own:
            raise BadInputError(
                f"{where}{key}: {_yaml(value)} contradicts arm {arm}, which is reward {of_arm} and cotrain"
                f" {_yaml(trained)}; leave one of them out"
            )
    return arm, of_arm, trained


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
