"""The contract of a domain: problems by split and seed, their truth, and the verifier and prompt that fit them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from cooper_rl.errors import BadInputError
from cooper_rl.records import Problem

Truth = Callable[[Problem, str], bool | None]  # whether a completion of a problem is right; None: not known


class Domain(ABC):
    """Problems of one kind.

    A subclass sets `name` and defines `problems`; everything else has defaults. It is constructed without arguments.
    `cooper_rl.testing.check_domain` tests that it keeps the contract.

    Attributes:
        name: the name in recipes and messages.
        splits: the names of its splits. No question is in two of them. An empty tuple accepts any name: the domain has
            no splits, or only the hub knows them.
        verifier: the rule verifier that reads its answers, by its name in `cooper verify`.
        system_prompt: the system message before each question, unless the user sets another; None means none.
    """

    name: str
    splits: tuple[str, ...] = ()
    verifier: str = "math"
    system_prompt: str | None = None

    @abstractmethod
    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """`size` distinct problems of a split, in an order that depends on the seed alone.

        Args:
            size: None means all problems; a domain that generates problems without end chooses a number.

        Raises:
            BadInputError: there is no such split, or the problems cannot be read.
        """

    def is_true(self, problem: Problem, completion: str) -> bool | None:
        """Whether the completion is right, from better knowledge than the rule verifier's; None if that is not known.

        It is used to measure and never to train, so that it shows whether a policy has learned or has fooled its
        reward.
        """
        return None

    @property
    def has_truth(self) -> bool:
        """Whether this domain has an `is_true` of its own, and so knows more than the rule verifier."""
        return type(self).is_true is not Domain.is_true

    def check(self, split: str) -> None:
        """Checks a split before anything slow starts. It generates and downloads nothing.

        Raises:
            BadInputError: there is no such split.
        """
        self.check_split(split)

    def check_split(self, split: str) -> None:
        """Refuses a split that does not exist.

        Raises:
            BadInputError: `splits` does not have it.
        """
        if self.splits and split not in self.splits:
            raise BadInputError(f"{self.name} has no split {split!r}, only {', '.join(self.splits)}")


class StoredDomain(Domain):
    """A domain whose problems are stored, in a file or on the hub. It reads a whole split and draws `size` problems."""

    @abstractmethod
    def read(self, split: str) -> list[Problem]:
        """All problems of a split, in their order.

        Raises:
            BadInputError: a problem has no question or no answer, or the split does not exist.
        """

    def open_split(self, split: str) -> Sequence[Problem]:
        """As `read`; a domain of very many problems may leave them on the disk."""
        return self.read(split)

    def problems(self, split: str, size: int | None, seed: int) -> list[Problem]:
        """All problems of a split, or `size` of them at random."""
        return list(self.draw(split, size, seed))

    def draw(self, split: str, size: int | None, seed: int) -> Sequence[Problem]:
        """As `problems`; what `open_split` leaves on the disk stays there."""
        self.check_split(split)
        problems = self.open_split(split)
        if size is None or size >= len(problems):
            return problems
        return self.select(problems, random.Random(seed).sample(range(len(problems)), size))

    def select(self, problems: Sequence[Problem], places: Sequence[int]) -> Sequence[Problem]:
        """Those of the problems of `open_split` that are at these places, in this order."""
        return [problems[place] for place in places]
