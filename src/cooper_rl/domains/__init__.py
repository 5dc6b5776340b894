"""Problems by name: public data sets, local files, reasoning-gym tasks and the nano world."""

from cooper_rl.domains.problems import check_problems, load_problems, truth_of

__all__ = ["check_problems", "load_problems", "truth_of"]
