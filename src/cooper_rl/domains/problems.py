"""Domains by name, and their problems: a data set's name in, `Problem` records out."""

from __future__ import annotations

from collections.abc import Callable

from cooper_rl.domains.domain import Domain
from cooper_rl.domains.files import SUFFIXES, FileSet
from cooper_rl.domains.generated import PREFIX, ReasoningGymTask
from cooper_rl.domains.hub import HubSet
from cooper_rl.errors import BadInputError
from cooper_rl.parts import find
from cooper_rl.records import Problem

GROUP = "cooper_rl.domains"
KNOWN = {  # import paths, so that nothing is imported that nobody asked for
    "nano": "cooper_rl.domains.nano.arithmetic:Arithmetic",
    "nano-kinship": "cooper_rl.domains.nano.kinship:Kinship",
    "nano-weekdays": "cooper_rl.domains.nano.weekdays:Weekdays",
    "gsm8k": "cooper_rl.domains.public:Gsm8k",
    "math": "cooper_rl.domains.public:Math",
    "math500": "cooper_rl.domains.public:Math500",
    "svamp": "cooper_rl.domains.public:Svamp",
    "olympiadbench": "cooper_rl.domains.public:OlympiadBench",
    "odyssey": "cooper_rl.domains.public:Odyssey",
    "aqua": "cooper_rl.domains.public:Aqua",
}
OTHERS = f", or name a {PREFIX}<task>, a hub id (owner/name) or a .jsonl/.json/.parquet file"


def find_domain(name: str) -> Domain:
    """The domain of this name.

    Args:
        name: one of `KNOWN`, `reasoning_gym:<task>`, a local .jsonl, .json or .parquet file, a hub id `owner/name`, the
            name of an installed entry point of the group `cooper_rl.domains`, or a `module:Class` of one's own.

    Raises:
        BadInputError: nothing is known by that name, or it is no `Domain`.
    """
    if name.startswith(PREFIX):
        return ReasoningGymTask(name.removeprefix(PREFIX))
    if name.endswith(SUFFIXES):
        return FileSet(name)
    if name.count("/") == 1 and ":" not in name:
        return HubSet(name)
    found = find(GROUP, name, KNOWN, kind="data set", others=OTHERS)
    domain = found() if isinstance(found, type) and issubclass(found, Domain) else found
    if not isinstance(domain, Domain):
        raise BadInputError(f"data set {name!r}: {found!r} is no subclass of cooper_rl.domains.Domain")
    return domain


def load_problems(name: str, *, split: str = "train", size: int | None = None, seed: int = 0) -> list[Problem]:
    """Problems of a data set, by a name that `find_domain` knows.

    Args:
        split: `train` or `test`, or another of the domain's own; `test` of a nano world is its `heldout`.
        size: how many, drawn with the seed; all by default (generated sets: 1,000).

    Raises:
        BadInputError, MissingFileError: an unknown name or split, a missing file, a bad record, or no problem at all.
        BackendError: the hub could not be read.
    """
    problems = find_domain(name).problems(split, size, seed)
    if not problems:
        raise BadInputError(f"{name}: no problem with an answer in it")
    return problems


def check_problems(name: str, split: str) -> None:
    """What can be said before anything slow starts: local files are read; generators and the hub are not asked.

    Raises:
        BadInputError, MissingFileError: as `load_problems`.
    """
    find_domain(name).check(split)


def truth_of(name: str) -> Callable[[Problem, str], bool | None] | None:
    """Who judges a completion of this data set beyond the rule verifier: its domain, or nobody."""
    domain = find_domain(name) if name else None
    return domain.is_true if domain is not None and domain.has_truth else None
