"""Line figures as inline SVG. Style sheets alone show the values under the pointer, so that no script runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import cycle, groupby, pairwise
from statistics import fmean
from typing import NamedTuple

ARM_ORDER = ("rule", "static", "cooper", "hybrid")
COLOURS = {"rule": "#6b7f99", "static": "#d9572b", "cooper": "#1f8a70", "hybrid": "#8a5fbf"}
PALETTE = ("#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a")
NOT_MEASURED = '<p class="muted">not measured in these runs</p>'
OTHER_COLOUR = "#888"
WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30
ROW, CHARACTER = 15, 6.9  # pixels
MOST_CHARACTERS = 44  # of a row
Line = Sequence[tuple[int, float, float, float]]  # step, mean, least, greatest


class Place(NamedTuple):
    """A point of a path in the unit square."""

    step: int
    across: float
    up: float


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """The arms' fixed colours. Other names get the other colours of the palette in order."""
    fixed = {name: COLOURS[name] for name in names if name in COLOURS}
    free = cycle([colour for colour in PALETTE if colour not in fixed.values()])
    return {name: fixed.get(name) or next(free) for name in names}


def blocks_of(lines: Iterable[Line], most: int = 40) -> list[list[Line]]:
    """Each line in blocks of neighbouring steps, at most `most`, which are the same steps for all lines."""
    lines = list(lines)
    steps = sorted({step for line in lines for step, *_ in line})
    size = -(-len(steps) // most)
    block = {step: place // size for place, step in enumerate(steps)}
    return [[list(points) for _, points in groupby(line, key=lambda point: block[point[0]])] for line in lines]


def smooth(blocks: Sequence[Line]) -> Line:
    """The means over a line's blocks, each at the block's last step."""

    def mean(block: Line, i: int) -> float:
        return fmean(point[i] for point in block)

    return [(block[-1][0], mean(block, 1), mean(block, 2), mean(block, 3)) for block in blocks]


def figure(
    lines: Mapping[str, Line],
    *,
    share: bool = False,
    marks: Sequence[tuple[int, str]] = (),
    colours: Mapping[str, str] | None = None,
    unit: str = "",
) -> str:
    """An SVG with a line and a band for each name; a note if nothing was measured.

    Args:
        lines: the points of each name.
        share: True draws the axis from 0 to 1.
        marks: (step, name) of dashed vertical lines.
        colours: the colour of each name; by default as `colours_of` gives them.
        unit: the values' unit. Where it is given, the values under the pointer are shown.
    """
    colours = colours or colours_of(list(lines))
    measured = {name: line for name, line in lines.items() if line}
    if not measured:
        return NOT_MEASURED
    blocks = blocks_of(measured.values())
    drawn = {name: smooth(own) for name, own in zip(measured, blocks, strict=True)}
    points = [point for line in drawn.values() for point in line]
    ys = ticks(0.0, 1.0) if share else ticks(min(low for _, _, low, _ in points), max(high for *_, high in points))
    last = max(step for step, *_ in points)
    axes = Axes(last or 1, ys if len(ys) > 1 else [ys[0], ys[0] + 1])
    parts = [*axes.grid(ticks(0, last or 1), "step")]
    for name, line in drawn.items():
        colour = colours.get(name, OTHER_COLOUR)
        upper = [(step, high) for step, _, _, high in line]
        lower = [(step, low) for step, _, low, _ in reversed(line)]
        mean = axes.places((step, value) for step, value, _, _ in line)
        parts.append(f'<polygon points="{axes.places(upper + lower)}" fill="{colour}" opacity="0.15"/>')
        parts.append(f'<polyline points="{mean}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(line) == 1:
            parts.append(dot(axes.x(line[0][0]), axes.y(line[0][1]), colour))
    for step, name in marks:
        if step <= axes.right:
            at = f'x1="{axes.x(step):.1f}" x2="{axes.x(step):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
            parts.append(f'<line {at} stroke="{colours.get(name, OTHER_COLOUR)}" stroke-dasharray="4 3"/>')
    if unit:
        spans: dict[int, int] = {}
        for block in (block for own in blocks for block in own):
            first, final = block[0][0], block[-1][0]
            spans[final] = min(first, spans.get(final, first))
        parts += readings(axes, columns_of(drawn, colours), unit, spans)
    return svg(parts)


def trajectories(paths: Sequence[tuple[str, str, Sequence[Place]]], across: str, up: str) -> str:
    """An SVG of paths in the unit square, each with a circle at its first point.

    Args:
        paths: (arm, the path's name, its points) of each run.
        across: what is measured from left to right.
        up: what is measured upwards.
    """
    colours = colours_of(list(dict.fromkeys(arm for arm, *_ in paths)))
    if not any(points for *_, points in paths):
        return NOT_MEASURED
    axes = Axes(1.0, ticks(0.0, 1.0))
    parts = [*axes.grid(axes.ys, f"{across}; upward: {up}")]
    for arm, _, points in paths:
        if points:
            line = axes.places((place.across, place.up) for place in points)
            style = f'fill="none" stroke="{colours[arm]}"'
            parts.append(f'<polyline points="{line}" {style} stroke-width="1.6" opacity="0.8"/>')
            first = f'cx="{axes.x(points[0].across):.1f}" cy="{axes.y(points[0].up):.1f}"'
            parts.append(f'<circle {first} r="4" {style}/>')
    for arm, name, points in paths:
        for place in points:
            said = [f"{name}, step {place.step}", f"{across} {place.across:.3f}", f"{up} {place.up:.3f}"]
            x, y = axes.x(place.across), axes.y(place.up)
            area = f'<circle class="area" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            parts.append(reading(area, x, said, [dot(x, y, colours[arm])]))
    return svg(parts)


def svg(parts: Sequence[str]) -> str:
    """The whole picture."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values that cover the range."""
    raw = (high - low) / max(1, count - 1) or 1.0
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


@dataclass(frozen=True)
class Axes:
    """The mapping from values to places in the SVG, and the grid behind them.

    Args:
        right: the value at the right edge; the left edge is 0.
        ys: the values of the horizontal grid lines, from the lower edge to the upper.
    """

    right: float
    ys: Sequence[float]

    def x(self, value: float) -> float:
        """Pixels from the left."""
        return LEFT + value / self.right * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        return HEIGHT - BOTTOM - (value - self.ys[0]) / (self.ys[-1] - self.ys[0]) * (HEIGHT - TOP - BOTTOM)

    def places(self, points: Iterable[tuple[float, float]]) -> str:
        """Points in SVG's syntax."""
        return " ".join(f"{self.x(across):.1f},{self.y(up):.1f}" for across, up in points)

    def grid(self, xs: Sequence[float], label: str) -> Iterator[str]:
        """Grid lines and their numbers, with `label` below the right end."""
        for value in self.ys:
            ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{self.y(value):.1f}" y2="{self.y(value):.1f}"'
            yield f'<line class="gridline" {ends}/>'
            yield f'<text x="{LEFT - 6}" y="{self.y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in xs:
            if value <= self.right:
                yield f'<text x="{self.x(value):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{value:g}</text>'
        yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 1}" text-anchor="end">{label}</text>'


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
