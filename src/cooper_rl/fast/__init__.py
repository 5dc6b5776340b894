"""Speed for one process: the same numbers up to rounding, with less work for each token.

What it is for: studies on one machine without vLLM, above all on a few CPU cores, where the loop of
`transformers.generate` and the padding of TRL's forward passes cost more than the model.

- `decode`: completions whose prompt is computed once a group, in a batch that rows leave when they have ended.
- `layers`: attention in 16 bits on a CPU, the last layer at the last token only, adapters merged for generating.
- `lean`: GRPOTrainer's generation and log-probabilities with shared prompts.

When it is off: with vLLM, in several processes, and for whatever is not known to give equal numbers. Then transformers
and TRL do the work. Without it nothing else changes: `COOPER_FAST=0` in the environment turns all of it off.
"""

from __future__ import annotations

import os


def is_on() -> bool:
    """The one switch: false where the environment has `COOPER_FAST=0`."""
    return os.environ.get("COOPER_FAST", "1") != "0"
