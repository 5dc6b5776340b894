"""The values under the pointer in a figure. Style sheets alone show and hide them, so that no script runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from cooper_rl.report.axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes

OTHER_COLOUR = "#888"
ROW, CHARACTER = 15, 6.9  # pixels
MOST_CHARACTERS = 44  # of a row

Line = Sequence[tuple[int, float, float, float]]  # step, mean, least, greatest


class Reading(NamedTuple):
    """What one line says at one step."""

    text: str
    value: float
    colour: str


def columns_of(lines: Mapping[str, Line], colours: Mapping[str, str]) -> dict[int, list[Reading]]:
    """What the lines say at each step."""
    columns: dict[int, list[Reading]] = {}
    for name, line in lines.items():
        for step, value, low, high in line:
            spread = f" ({number(low)} to {number(high)})" if number(low) != number(high) else ""
            reading = Reading(f"{name} {number(value)}{spread}", value, colours.get(name, OTHER_COLOUR))
            columns.setdefault(step, []).append(reading)
    return columns


def readings(
    axes: Axes, columns: Mapping[int, Sequence[Reading]], unit: str, spans: Mapping[int, int]
) -> Iterator[str]:
    """A column for each step, from halfway to its neighbours, which shows the step's values under the pointer.

    Args:
        columns: what the lines say at each step.
        unit: the values' unit.
        spans: for each step the first one of those that its values are means over.
    """
    steps = sorted(columns)
    middles = [(axes.x(first) + axes.x(second)) / 2 for first, second in pairwise(steps)]
    for step, left, right in zip(steps, [LEFT, *middles], [*middles, WIDTH - RIGHT], strict=True):
        sides = f'x="{left:.1f}" width="{right - left:.1f}" y="{TOP}" height="{HEIGHT - TOP - BOTTOM}"'
        x = axes.x(step)
        found = sorted(columns[step], key=lambda each: -each.value)
        marks = [dot(x, axes.y(each.value), each.colour) for each in found]
        rule = f'<line class="pointer" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        steps_said = f"step {step}" if spans[step] == step else f"mean of steps {spans[step]} to {step}"
        said = [f"{steps_said}, {unit}", *(each.text for each in found)]
        yield reading(f'<rect class="area" {sides}/>', x, said, [rule, *marks])


def reading(area: str, x: float, said: Sequence[str], marks: Sequence[str]) -> str:
    """An invisible area; while the pointer is over it, `marks` and the lines of `said` beside x are shown."""
    lines = [line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…" for line in said]
    width = 12 + CHARACTER * max(map(len, lines))
    left = x + 8 if x + 8 + width <= WIDTH else max(0.0, x - 8 - width)
    box = f'x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{8 + ROW * len(lines)}" rx="4"'
    texts = "".join(
        f'<text x="{left + 6:.1f}" y="{TOP + ROW * row}">{escape(line)}</text>' for row, line in enumerate(lines, 1)
    )
    return f'<g class="at">{area}<g class="said">{"".join(marks)}<rect class="box" {box}/>{texts}</g></g>'


def dot(x: float, y: float, colour: str) -> str:
    """A filled circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def number(value: float) -> str:
    """A value as it is shown under the pointer."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
