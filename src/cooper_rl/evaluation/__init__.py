"""How good a reward model or a verifier is: figures with intervals, and probes of known hacks."""
