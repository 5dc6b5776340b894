"""Invents pairs of a reference answer and a completion's answer that have nothing to do with the question.

Each kind makes the two so that it is known whether they are the same, without asking a rule. A reward model that is
trained on them must compare the two answers and cannot rely on solving the problem itself. The same holds for
multiple-choice questions, and for answers after the reasoning of another completion.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from cooper_rl.synthesis.invented.formulas import functions, periodic, products
from cooper_rl.synthesis.invented.values import counts, intervals, lists, numbers, orders
from cooper_rl.synthesis.rewrite import FAMILIES, closing

__all__ = ["KINDS", "after_working", "answers", "choices", "without_answer"]
# Each kind, and how many times of 100 it is drawn.
KINDS = {numbers: 26, lists: 21, intervals: 16, functions: 15, products: 8, counts: 5, orders: 5, periodic: 4}
_GIVEN_UP = ("unknown", "none", "no solution", "undefined", "cannot be determined", "\\text{unknown}", "\\emptyset")
_AS_GOOD = {"yes": "true", "no": "false", "true": "yes", "false": "no"}  # for questions whether a statement is true


def answers(right: bool, rng: random.Random) -> tuple[str, str]:
    """(reference, answer): the same answer in two writings if `right`, else two answers that look alike."""
    reference, answer = rng.choices(list(KINDS), list(KINDS.values()))[0](right, rng)
    if not right and rng.random() < 0.04:
        answer = rng.choice(_GIVEN_UP)
    dresses = ((reference, answer), (f"${reference}$", answer), (f"${reference}$", f"${answer}$"))
    return rng.choices(dresses, (7, 2, 1))[0]


def choices(question: str, texts: Sequence[str], right: bool, rng: random.Random) -> tuple[str, str, str]:
    """(question, reference, completion): the question with choices, which are `texts` or words such as yes and no.

    The completion's reasoning may name other choices. The choice that it ends with counts.
    """
    if rng.random() < 0.4:
        return _among_words(question, right, rng)
    return _among_letters(question, texts, right, rng)


def _among_words(question: str, right: bool, rng: random.Random) -> tuple[str, str, str]:
    family = rng.choice(FAMILIES)
    words = rng.sample(family, min(len(family), 5))
    true = rng.choice(words)
    said = true if right else rng.choice([word for word in words if word != true])
    if rng.random() < 0.3:
        said = _AS_GOOD.get(said, said)
    working = _weigh([word for word in words if word not in (said, _AS_GOOD.get(said))], rng)
    question = f"{question}\nAnswer with one of: {', '.join(words)}."
    return question, _change_case(true, rng), working + closing(_change_case(said, rng), rng)


def _among_letters(question: str, texts: Sequence[str], right: bool, rng: random.Random) -> tuple[str, str, str]:
    """A question with a letter for each text, and one for none of them. It asks for one letter or all right ones."""
    letters, none = "ABCDEFGHIJK"[: len(texts)], "ABCDEFGHIJK"[len(texts)]
    form, together = rng.choice(("({}) {}", "{}. {}", "{}: {}")), rng.random() < 0.3
    lines = [question, *(form.format(letter, text) for letter, text in zip(letters, texts, strict=True))]
    if together:
        lines.append(f"Put the letters of all that are right together, such as {letters[:2]}; {none} if none is.")
    true = none if rng.random() < 0.08 else "".join(sorted(rng.sample(letters, rng.randint(1, 3) if together else 1)))
    said = true
    if not right and true != none and rng.random() < 0.3:
        said = none
    elif not right:
        one = rng.choice([letter for letter in letters if together or letter != true])
        said = "".join(sorted({*true.replace(none, "")} ^ {one})) or none if together else one
    known = dict(zip(letters, texts, strict=True))
    working = _weigh([letter for letter in letters if letter not in said], rng)
    if said == none and rng.random() < 0.7:
        working += f"None of the choices A-{letters[-1]} is right, so it is {none}. "
    return (
        "\n".join(lines),
        _write_choice(true, known.get(true), rng),
        working + closing(_write_choice(said, known.get(said), rng), rng),
    )


def after_working(text: str, workings: Sequence[str], rng: random.Random) -> str:
    """A text after a part of another completion's reasoning, which need not lead to it."""
    words = rng.choice(workings).split()
    length = rng.randint(8, 60)
    start = rng.randrange(max(1, len(words) - length + 1))
    return f"{' '.join(words[start : start + length])} {text}"


def without_answer(completion: str) -> str:
    """A completion without its end, from where it begins to state its answer."""
    return re.split(r"\\boxed|####|[Aa]nswer|[Tt]herefore|[Tt]hus|Hence", completion, maxsplit=1)[0].rstrip(" $*#\n[(")


def _change_case(word: str, rng: random.Random) -> str:
    return rng.choice((word, word, word.capitalize(), f"\\text{{{word}}}"))


def _write_choice(letters: str, text: str | None, rng: random.Random) -> str:
    """A reference to a choice: its letter, with or without its text."""
    ways = [letters, letters, f"({letters})", f"({letters})", f"\\text{{{letters}}}"]
    return rng.choice(ways if text is None else [*ways, f"{letters}. {text}", f"({letters}) {text}"])


def _weigh(others: Sequence[str], rng: random.Random) -> str:
    """Reasoning that mentions other choices; sometimes empty."""
    if not others or rng.random() < 0.4:
        return ""
    return "".join(
        rng.choice(
            (
                "At first {} looks right, but it does not follow. ",
                "Let us check {}: it fails. ",
                "{} would need more than what is given. ",
                "If it were {}, the condition would not hold. ",
                "Hmm, maybe {}? No. ",
                "It cannot be {}. ",
            )
        ).format(other)
        for other in rng.sample(others, min(len(others), rng.randint(1, 3)))
    )
