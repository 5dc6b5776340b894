"""Writes the same answer in another way, and writes answers that look like it but are not the same.

Before training, `cooper annotate` checks the results: it keeps a pair of reference and answer only if the rule verifier
agrees that they are the same, or that they differ.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from cooper_rl.synthesis.other_answer import OTHER
from cooper_rl.synthesis.same_answer import MAX_OPERATIONS, SAME, Way, with_unit_of
from cooper_rl.verifiers.math import algebra
from cooper_rl.verifiers.math.markup import CLOSE, OPEN, same_text, strip_markup

MAX_CHARACTERS = 160


def rewritten(answer: str, rng: random.Random, question: str = "") -> str | None:
    """The same answer in another writing; None if no other is found.

    Args:
        question: its unit is added to a number that has none.
    """
    has_unit = re.search(r"%|\\\$", answer) or answer.count("$") % 2
    ways = SAME if has_unit else (*SAME, with_unit_of(question.lower()))
    return _written(answer, ways, rng, required=False)


def changed(answer: str, rng: random.Random) -> str | None:
    """An answer that looks like this one but most often is another; None if nothing can be changed."""
    return _written(answer, OTHER, rng, required=True)


def rounded(answer: str, rng: random.Random) -> str | None:
    """A number rounded to a decimal; None for any other answer. As a reference answer it accepts the exact number."""
    bare = strip_markup(answer)
    expression = algebra.parsed(bare) if 0 < len(bare) <= MAX_CHARACTERS else None
    if expression is None or expression.free_symbols or expression.count_ops() > MAX_OPERATIONS:
        return None
    value = algebra.value_at(expression, {})
    digits = rng.choice((2, 2, 2, 3, 4))
    if value is None or not value.is_real or not 0.05 < abs(value) < 10_000 or value == round(value, digits):
        return None
    return f"{float(value):.{digits}f}"


def stated(answer: str, rng: random.Random) -> str:
    """A completion that has only this answer, bare or in a closing sentence."""
    return answer if rng.random() < 0.6 else closing(answer, rng)


def closing(answer: str, rng: random.Random) -> str:
    """The last lines of a completion that gives this answer."""
    without_dollars = re.sub(r"(?<!\\)\$", "", answer)  # keeps the dollar sign of \$18
    boxed = f"\\boxed{{{without_dollars}}}"
    return rng.choice(
        (
            *(answer, boxed, f"${boxed}$", f"**{answer}**", f"</think>\n\n{answer}"),
            *(f"The answer is {answer}.", f"Final Answer: The final answer is ${boxed}$", f"**Answer:** {answer}"),
            *(f"Therefore, the answer is **{answer}**.", f"So the correct answer is: \\[ {boxed} \\]"),
            *(f"Thus, we get {answer}.", f"The final answer is: ${boxed}$. I hope it is correct.", f"#### {answer}"),
            *(f"Hence the result is {boxed}.", f"**Final Answer**\n\\[ {boxed} \\]", f"Answer: {answer}"),
        )
    )


def _written(answer: str, ways: Sequence[Way], rng: random.Random, *, required: bool) -> str | None:
    bare = strip_markup(answer)
    if not 0 < len(bare) <= MAX_CHARACTERS:
        return None
    tried = (way(bare, rng) for way in rng.sample(ways, len(ways)))
    found = next((text for text in tried if text is not None and not (required and same_text(text, bare))), None)
    if found is None and required:
        return None
    if found is not None and (required or rng.random() < 0.7):
        bare = found
    if required and rng.random() < 0.5:  # wrong answers get another writing as often as right ones
        bare = next((t for way in rng.sample(SAME, 3) if (t := way(bare, rng)) is not None), bare)
    texts = [text for text in (_typeset(bare, rng) for _ in range(8)) if text != answer.strip()]
    return texts[0] if texts else None


def _typeset(bare: str, rng: random.Random) -> str:
    """A bare answer typeset in one of several ways, as LaTeX or as plain text."""
    if re.fullmatch(r"[A-Za-z -]+", bare.strip(OPEN + CLOSE)):
        word = bare.strip(OPEN + CLOSE)
        return rng.choice((word, word.lower(), word.upper(), f"\\text{{{word}}}", f"**{word}**"))
    latex = rng.random() < 0.8
    text = bare.replace("\\frac", rng.choice(("\\frac", "\\dfrac")))
    signs = {"<=": ("\\leq ", "\\le ", "\\leqslant "), ">=": ("\\geq ", "\\ge "), "!=": ("\\neq ", "\\ne ")}
    signs |= {"°": ("^\\circ", "^{\\circ}"), "*": ("\\cdot ", "\\times ")}
    unicode = {"<=": "≤", ">=": "≥", "!=": "≠", "\\pi": "π", "\\infty": "∞", "\\cup": "∪"}
    for sign, writings in signs.items():
        text = text.replace(sign, rng.choice(writings)) if latex else text
    for sign, writing in unicode.items():
        text = text if latex else text.replace(sign, writing)
    if rng.random() < 0.5:
        text = re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1" if latex else r"√\1", text)
    text = re.sub(
        rf" ?{OPEN}([^{CLOSE}]*){CLOSE}",
        lambda found: f"\\text{{ {found[1].strip()}}}" if latex else f" {found[1]}",
        text,
    )
    if rng.random() < 0.5:
        text = re.sub(r"(?<=[\w)}\]]) ?([-+=<>]) ?(?=[\w(\\{])", rng.choice((r"\1", r" \1 ")), text)
    if latex and rng.random() < 0.3:
        text = re.sub(r",(?!\d{3}(?!\d)) ?", rng.choice((", ", ",\\ ", ",")), text)
    if rng.random() < 0.3:
        text = text.replace("{pmatrix}", "{bmatrix}")
    if latex and rng.random() < 0.2 and re.fullmatch(r"[(\[][^()\[\]]*[)\]]", text):
        text = f"\\left{text[:-1]}\\right{text[-1]}"
    text = text.strip()
    return f"${text}$" if latex and rng.random() < 0.3 else text
