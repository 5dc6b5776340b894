"""How good a reward model or a verifier is: metrics with intervals, and probes of known hacks."""
