"""Line figures as inline SVG. Style sheets alone show the values under the pointer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, groupby
from statistics import fmean
from typing import NamedTuple

from cooper_rl.report.axes import BOTTOM, HEIGHT, TOP, WIDTH, Axes, ticks
from cooper_rl.report.pointer import OTHER_COLOUR, Line, columns_of, dot, reading, readings

ARM_ORDER = ("rule", "static", "cooper", "hybrid")
COLOURS = {"rule": "#6b7f99", "static": "#d9572b", "cooper": "#1f8a70", "hybrid": "#8a5fbf"}
PALETTE = ("#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a")
NOT_MEASURED = '<p class="muted">not measured in these runs</p>'


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
