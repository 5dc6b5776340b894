"""Worked solutions of arithmetic, one sentence a step, for tasks of reasoning-gym that come without."""

from __future__ import annotations

import re
from typing import Any

from cooper_rl.synthesis.wrong_numbers import Numeral


def has_one_digit_factor(entry: dict[str, Any]) -> bool:
    """Whether one of a product's two factors has a single digit."""
    return any(len(factor) == 1 for factor in entry["metadata"]["expression"].split(" * "))


def product_steps(expression: str) -> list[str]:
    """The steps of a product such as 47 * 6, digit by digit of the larger factor."""
    left, right = sorted((int(term) for term in expression.split(" * ")), reverse=True)
    tens, ones = left // 10 * 10, left % 10
    if not tens or not ones:
        return [f"{left} * {right} = {left * right}."]
    return [
        f"{tens} * {right} = {tens * right}.",
        f"{ones} * {right} = {ones * right}.",
        f"{tens * right} + {ones * right} = {left * right}.",
    ]


def sum_steps(expression: str) -> list[str]:
    """The steps of a chain of sums, from the left, with as many decimals as its terms have."""
    first, *rest = re.split(r" (?=[+-] )", expression)
    decimals = max(Numeral.read(term).decimals for term in re.split(r" [+-] ", expression))
    scale, sums = 10**decimals, Numeral(0, decimals)
    total = round(float(first) * scale)
    steps = []
    for term in rest:
        sign, number = term.split(" ")
        before = total
        total += (1 if sign == "+" else -1) * round(float(number) * scale)
        steps.append(f"{sums.with_units(before)} {sign} {number} = {sums.with_units(total)}.")
    return steps
