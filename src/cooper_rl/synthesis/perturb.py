"""Makes wrong completions without a language model: a number in the reasoning is changed, and the answer with it."""

from __future__ import annotations

import random
import re
from fractions import Fraction

from cooper_rl.synthesis.wrong_numbers import moved

_NUMBER = r"-?\d+(?:\.\d+)?"
_EQUATION = re.compile(
    rf"(?P<a>{_NUMBER}) ?(?P<op>[-+*/x]) ?(?P<b>{_NUMBER})(?P<unit>[^=.\d]{{0,30}})= ?(?P<c>{_NUMBER})"
)
_ANY = re.compile(r"(?<![\d.,])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\d.])-?\d+(?:\.\d+)?")


def perturb(completion: str, rng: random.Random) -> str | None:
    """The completion with one number made wrong; None if there is no number to change.

    If there is an equation, its result is changed. Each later equation that uses the result is computed anew, so that
    the wrong answer follows from the mistake. Without an equation, the last number is changed.
    """
    equations = list(_EQUATION.finditer(completion))
    if not equations or rng.random() < 0.3:
        return _change_last(completion, rng)
    slip = rng.choice(equations)
    changed = {slip["c"]: moved(slip["c"], rng)}
    head, tail = completion[: slip.start("c")], completion[slip.start("c") :]
    out, position = [head], 0
    for equation in _EQUATION.finditer(tail):
        out.append(_replace(tail[position : equation.start()], changed))
        old = equation.group()
        new = _replace(old[: equation.start("c") - equation.start()], changed)
        result = _work_out(new) if new != old[: len(new)] else None
        if result is not None and result != equation["c"]:
            changed[equation["c"]] = result
        out.append(new + changed.get(equation["c"], equation["c"]))
        position = equation.end()
    out.append(_replace(tail[position:], changed))
    text = "".join(out)
    return text if text != completion else _change_last(completion, rng)


def figures(text: str) -> list[str]:
    """The numbers of a text, as they are written."""
    return [found.group() for found in _ANY.finditer(text)]


def _change_last(completion: str, rng: random.Random) -> str | None:
    numbers = list(_ANY.finditer(completion))
    if not numbers:
        return None
    last = numbers[-1].group()
    return _replace(completion, {last: moved(last, rng)})


def _replace(text: str, changed: dict[str, str]) -> str:
    return _ANY.sub(lambda found: changed.get(found.group(), found.group()), text)


def _work_out(left_side: str) -> str | None:
    found = re.search(rf"({_NUMBER}) ?([-+*/x]) ?({_NUMBER})[^=\d]*= ?$", left_side)
    if not found:
        return None
    a, op, b = Fraction(found[1]), found[2], Fraction(found[3])
    if op == "/" and b == 0:
        return None
    value = {"+": a + b, "-": a - b, "*": a * b, "x": a * b}.get(op) if op != "/" else a / b
    if value is None:
        return None
    return str(value) if value.denominator == 1 else f"{float(value):.10g}"
