"""What verl 0.9 lacks to run on a CPU, for tests alone: verl supports accelerators only.

VERL_USE_EXTERNAL_MODULES=verl_cpu.load and VERL_PLATFORM=cpu put it into every process of a run. It uses verl's own
registries (platform, engine, rollout server) and replaces three names that have none.
"""

import verl  # noqa: F401  # first: it imports `load`, which needs verl whole
