"""The nano worlds by name, for the programs that make their models."""

from __future__ import annotations

from cooper_rl.domains.nano.arithmetic import Arithmetic
from cooper_rl.domains.nano.kinship import Kinship
from cooper_rl.domains.nano.steps import Steps
from cooper_rl.domains.nano.weekdays import Weekdays
from cooper_rl.domains.nano.world import NanoWorld

NANO = Arithmetic()
WORLDS: dict[str, NanoWorld] = {world.name: world for world in (NANO, Kinship(), Weekdays(), Steps())}
