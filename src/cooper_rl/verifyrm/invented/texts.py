"""Whole texts: questions of choice, and answers after somebody else's working."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from cooper_rl.verifyrm.other_answer import FAMILIES
from cooper_rl.verifyrm.writings import closing


def choices(question: str, texts: Sequence[str], right: bool, rng: random.Random) -> tuple[str, str, str]:
    """(question, reference, completion): the question as one of choice among `texts`, or among words such as yes or no.

    The completion's working may name other choices; what counts is the one that it ends with.
    """
    if rng.random() < 0.45:
        family = rng.choice(FAMILIES)
        names = rng.sample(family, min(len(family), 5))
        shown = [""] * len(names)
        question = f"{question}\nAnswer with one of: {', '.join(names)}."
    else:
        names = list("ABCDEFGHIJK"[: len(texts)])
        shown = list(texts)
        form = rng.choice(("({}) {}", "{}. {}", "{}: {}"))
        question = "\n".join([question, *(form.format(name, text) for name, text in zip(names, shown, strict=True))])
    true = rng.randrange(len(names))
    said = true if right else rng.choice([index for index in range(len(names)) if index != true])
    reference = _chosen(names[true], shown[true], rng)
    completion = closing(_chosen(names[said], shown[said], rng), rng)
    if rng.random() < 0.6:
        completion = f"{_weighed([name for name in names if name != names[said]], rng)} {completion}"
    return question, reference, completion


def after_working(text: str, workings: Sequence[str], rng: random.Random) -> str:
    """A text after some of another's working, which need not lead to it."""
    words = rng.choice(workings).split()
    length = rng.randint(8, 60)
    start = rng.randrange(max(1, len(words) - length + 1))
    return f"{' '.join(words[start : start + length])} {text}"


def without_answer(completion: str) -> str:
    """A completion up to where it begins to state its answer."""
    return re.split(r"\\boxed|####|[Aa]nswer|[Tt]herefore|[Tt]hus|Hence", completion, maxsplit=1)[0].rstrip(" $*#\n[(")


def _chosen(name: str, text: str, rng: random.Random) -> str:
    """A choice as it is referred to: its letter, with its text or without; a word as it stands."""
    if not text:
        return rng.choice((name, name, name.lower(), name.capitalize(), f"\\text{{{name}}}"))
    return rng.choice(
        (name, name, f"({name})", f"({name})", f"\\text{{{name}}}", f"{name}. {text}", f"({name}) {text}")
    )


def _weighed(others: Sequence[str], rng: random.Random) -> str:
    """Working that speaks of the other choices."""
    return " ".join(
        rng.choice(
            (
                "At first {} looks right, but it does not follow.",
                "Let us check {}: it fails.",
                "{} would need more than what is given.",
                "If it were {}, the condition would not hold.",
                "Hmm, maybe {}? No.",
                "It cannot be {}.",
            )
        ).format(other)
        for other in rng.sample(others, min(len(others), rng.randint(1, 3)))
    )
