"""VerifyRM: the reference-based reward model, its input format, training, scoring and evaluation."""

from cooper_rl.verifyrm.model import VerifyRM, VerifyRMSettings

__all__ = ["VerifyRM", "VerifyRMSettings"]
