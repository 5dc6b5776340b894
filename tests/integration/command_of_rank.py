"""`cooper ARGUMENTS` as one rank below torchrun, which must have left its process group at the end.

A rank that exits inside it aborts now and then ("terminate called without an active exception").
"""

import sys

import torch

from cooper_rl.cli import app

app(sys.argv[1:], standalone_mode=False)
assert torch.distributed.is_torchelastic_launched() and not torch.distributed.is_initialized()
