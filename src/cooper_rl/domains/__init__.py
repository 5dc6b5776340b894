"""Problems by name: public data sets, local files, reasoning-gym tasks, the nano worlds and a user's own domains."""

from cooper_rl.domains.domain import Domain, StoredDomain, Truth
from cooper_rl.domains.problems import (
    check_named_problems,
    check_problems,
    find_domain,
    heldout_problems,
    load_problems,
    training_problems,
    truth_of,
    warn_of_shared,
)

__all__ = [
    "Domain",
    "StoredDomain",
    "Truth",
    "check_named_problems",
    "check_problems",
    "find_domain",
    "heldout_problems",
    "load_problems",
    "training_problems",
    "truth_of",
    "warn_of_shared",
]
