"""Rule verifiers: they compare a completion with a reference answer and return a verdict. They never crash or hang."""

from cooper_rl.verifiers.pool import RuleVerifier

__all__ = ["RuleVerifier"]
