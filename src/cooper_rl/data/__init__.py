"""Problems by name: public data sets, local files, reasoning-gym tasks and the nano world."""

from cooper_rl.data.problems import load_problems, truth_of

__all__ = ["load_problems", "truth_of"]
