"""Rule verifiers: a reference answer and a completion in, a verdict out; never a crash, never a hang."""

from cooper_rl.verifiers.pool import RuleVerifier

__all__ = ["RuleVerifier"]
