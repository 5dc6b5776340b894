"""The nano worlds by name: small problem sets with a policy and a VerifyRM made for them, which the package ships.

`studies/nano` makes these models.
"""

from cooper_rl.domains.nano.arithmetic import Arithmetic, Steps
from cooper_rl.domains.nano.demonstrations import NanoWorld
from cooper_rl.domains.nano.kinship import Kinship
from cooper_rl.domains.nano.weekdays import Weekdays

NANO = Arithmetic()
WORLDS: dict[str, NanoWorld] = {world.name: world for world in (NANO, Kinship(), Weekdays(), Steps())}
