"""Makes up answers and completions: equivalent, corrupted and invented ones, and probes of known hacks."""
