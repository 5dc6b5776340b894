"""Two ranks below torchrun: `[*TWO_RANKS, script, ...]`, or `[*COOPER, "train", ...]` for a command of cooper."""

import sys

TWO_RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
COOPER = [*TWO_RANKS, "-m", "cooper_rl.cli"]
