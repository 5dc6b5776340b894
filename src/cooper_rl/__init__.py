"""Cooper: train a reasoning policy and its reference-based reward model together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cooper_rl.errors import how_to_install

if TYPE_CHECKING:
    from cooper_rl.engines.config import CooperConfig as CooperConfig
    from cooper_rl.engines.trl.cooper_trainer import CooperTrainer as CooperTrainer
    from cooper_rl.engines.trl.reward_function import CooperReward as CooperReward
    from cooper_rl.records import Verdict as Verdict
    from cooper_rl.settings.method import CooperSettings as CooperSettings
    from cooper_rl.verifiers import RuleVerifier as RuleVerifier
    from cooper_rl.verifyrm import VerifyRM as VerifyRM

_HOMES = {
    "CooperConfig": "cooper_rl.engines.config",
    "CooperReward": "cooper_rl.engines.trl.reward_function",
    "CooperSettings": "cooper_rl.settings.method",
    "CooperTrainer": "cooper_rl.engines.trl.cooper_trainer",
    "RuleVerifier": "cooper_rl.verifiers",
    "Verdict": "cooper_rl.records",
    "VerifyRM": "cooper_rl.verifyrm",
}
__all__ = ["CooperConfig", "CooperReward", "CooperSettings", "CooperTrainer", "RuleVerifier", "Verdict", "VerifyRM"]


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: the verifier needs no torch, and importing the trainer takes 10 seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(f"{__name__}."):  # cooper-rl-verifier has the verifier's modules only
            told = f"{name} is not in cooper-rl-verifier: {how_to_install()}"
            raise ImportError(told, name=__name__) from error
        raise
