"""The settings of the policy's reward, and the arms: names for pairs of a reward and co-training."""

from __future__ import annotations

from collections.abc import Mapping
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
GIVEN_BY_ANOTHER: Any = None  # stands in for arm, reward or cotrain until `resolve_arm` has filled in all three


@dataclass
class RewardSettings(VerifierSettings):
    """Stage 1: what a completion is rewarded for."""

    HEADING: ClassVar[str] = "Reward (stage 1)"

    arm: Arm | None = setting(
        GIVEN_BY_ANOTHER,
        "This name sets reward and cotrain together: rule (rule, false), static (score, false), cooper "
        "(score, true), hybrid (hybrid, false), hybrid+cotrain (hybrid, true) or rule+cotrain (rule, true). Without "
        "it, reward and cotrain decide; if none of the three is given, it is cooper.",
    )
    reward: str = setting(
        GIVEN_BY_ANOTHER,
        "A completion's reward is rule (1 where the verifier says CORRECT, else 0), score (the reward model's score) "
        "or hybrid (1 where CORRECT, else the score). It may be a class of your own as module:Class. Without it, arm "
        "decides.",
    )
    cotrain: bool = setting(
        GIVEN_BY_ANOTHER,
        "True trains the reward model along with the policy (stage 2). Without it, arm decides.",
    )
    reward_threshold: float | None = setting(
        None,
        "A score above this number gives the reward 1 and any other 0; null makes the score itself the reward.",
        least=0,
        most=1,
    )
    verifier_deadline_seconds: float = setting(
        5.0, "The verifier gives up on a completion, with the verdict TIMEOUT, after this many seconds."
    )


def resolve_arm(
    arm: str | None, reward: str | None, cotrain: bool | None, source: str = ""
) -> tuple[str | None, str, bool]:
    """(arm, reward, cotrain) from those that are given. If none is given, the arm is `cooper`.

    The arm is None where no arm is a name for the pair, as with a reward of the user's own.

    Args:
        source: the file or command line that gives them; error messages begin with it.

    Raises:
        BadInputError: the arm is unknown, or contradicts the reward or cotrain given with it.
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
                f"{where}{key}: {_yaml(value)} contradicts arm {arm}, which means reward {of_arm} and cotrain"
                f" {_yaml(trained)}; leave one of them out"
            )
    return arm, of_arm, trained


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of one layer on top of another's.

    An arm in the upper layer replaces the lower layer's reward and cotrain. A reward or cotrain in the upper layer
    replaces that one setting of the lower layer's arm.
    """
    kept = dict(below)
    if above.get("arm") is not None:
        kept.pop("reward", None)
        kept.pop("cotrain", None)
    elif kept.get("arm") is not None and ("reward" in above or "cotrain" in above):
        kept["reward"], kept["cotrain"] = ARMS[kept.pop("arm")]
    return {**kept, **above}


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
