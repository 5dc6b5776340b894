"""Two ranks below torchrun: `[*TWO_RANKS, script, ...]`, or `[*COOPER, "train", ...]` for a command of cooper.

A command's ranks must have left their process group at the end: one that exits inside it aborts now and then
("terminate called without an active exception").
"""

import sys

import torch

from cooper_rl.cli import app

TWO_RANKS = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
COOPER = [*TWO_RANKS, __file__]

if __name__ == "__main__":
    app(sys.argv[1:], standalone_mode=False)
    assert torch.distributed.is_torchelastic_launched() and not torch.distributed.is_initialized()
