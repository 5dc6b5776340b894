"""What the classes of cases are made of: a reference, a completion, and the verdicts that are allowed for them.

A class is a function that draws values and yields a few cases, each with its mirror: one that looks alike and has the
opposite label. It is called until there are `EACH` different cases. A case is right only if the reference and the
completion alone show it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from cooper_rl.records import Verdict

Allowed = frozenset[Verdict]
Case = tuple[str, str, Allowed]  # reference, completion (or the answer that it states), verdicts that are allowed
Maker = Callable[[random.Random], Iterator[Case]]

RIGHT = frozenset({Verdict.CORRECT})
RIGHT_OR_OPEN = frozenset({Verdict.CORRECT, Verdict.UNPARSEABLE})  # right, but it need not be proved
OPEN = frozenset({Verdict.UNPARSEABLE})  # only the question could settle it
WRONG = frozenset({Verdict.INCORRECT, Verdict.UNPARSEABLE})

EACH, MOST_ROUNDS = 30, 300

LATEX = (
    r"\boxed{@}",
    r"So it is $\boxed{@}$.",
    "The answer is $@$.",
    "**Answer:** $@$",
    "**Final answer:** $@$",
    r"We find \(\boxed{@}\).",
)
PLAIN = ("The answer is @.", "**Answer:** @", "Final answer: @", "#### @", r"\boxed{@}", "So the answer is **@**.")
PROSE = (*PLAIN[:4], PLAIN[5])
WORDS = (*PROSE, r"\boxed{\text{@}}")
BOXES = (r"\boxed{@}", r"So it is $\boxed{@}$.", r"We find \(\boxed{@}\).", "Adding up gives\n\n$$\\boxed{@}$$")
AS_IT_IS = ("@",)

NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

CLASSES: dict[str, tuple[Maker, tuple[str, ...]]] = {}


def cases(closings: tuple[str, ...] = AS_IT_IS) -> Callable[[Maker], Maker]:
    """Registers a class. What it yields as second is put into one of the closings."""

    def register(make: Maker) -> Maker:
        if make.__name__ in CLASSES:
            raise ValueError(f"two classes have the name {make.__name__}")
        CLASSES[make.__name__] = (make, closings)
        return make

    return register


def cases_of(name: str) -> list[Case]:
    """The different cases of a class, always the same ones."""
    make, closings = CLASSES[name]
    rng = random.Random(name)
    found: dict[tuple[str, str], Allowed] = {}
    for _ in range(MOST_ROUNDS):
        for reference, stated, allowed in make(rng):
            closing = rng.choice(closings)
            closing = closing.replace("@.", "@") if stated.endswith(".") else closing
            found.setdefault((reference, closing.replace("@", stated)), allowed)
        if len(found) >= EACH:
            break
    return [(reference, completion, allowed) for (reference, completion), allowed in found.items()]


def two(rng: random.Random, low: int, high: int) -> tuple[int, int]:
    """Two different whole numbers, from low to high."""
    first, second = rng.sample(range(low, high + 1), 2)
    return first, second


def tidy(value: float) -> str:
    """A decimal without trailing noughts."""
    return f"{value:.10f}".rstrip("0").rstrip(".")
