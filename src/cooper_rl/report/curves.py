"""Line figures as inline SVG without scripts, so that the report needs no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

ARM_ORDER = ("rule", "static", "cooper", "hybrid")
COLOURS = {"rule": "#6b7f99", "static": "#d9572b", "cooper": "#1f8a70", "hybrid": "#8a5fbf"}
PALETTE = ("#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a")
OTHER_COLOUR = "#888"
NOT_MEASURED = '<p class="muted">not measured in these runs</p>'
WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30

Line = Sequence[tuple[int, float, float, float]]  # step, mean, least, greatest


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """The arms' fixed colours. Other names get the colours of the palette in order."""
    return {name: COLOURS.get(name, PALETTE[i % len(PALETTE)]) for i, name in enumerate(names)}


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values that cover the range."""
    raw = (high - low) / max(1, count - 1) or 1.0
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def smooth(line: Line, most: int = 40) -> Line:
    """The line itself; if it has more than `most` points, means over blocks of neighbouring steps."""
    size = -(-len(line) // most)
    blocks = [line[start : start + size] for start in range(0, len(line), size or 1)]

    def mean(block: Line, i: int) -> float:
        return fmean(point[i] for point in block)

    return [(block[-1][0], mean(block, 1), mean(block, 2), mean(block, 3)) for block in blocks]


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


def figure(
    lines: Mapping[str, Line],
    *,
    share: bool = False,
    marks: Sequence[tuple[int, str]] = (),
    colours: Mapping[str, str] | None = None,
) -> str:
    """An SVG with a line and a band for each name; a note if nothing was measured.

    Args:
        lines: the points of each name.
        share: True draws the axis from 0 to 1.
        marks: (step, name) of dashed vertical lines.
        colours: the colour of each name; by default as `colours_of` gives them.
    """
    colours = colours or colours_of(list(lines))
    drawn = {name: smooth(line) for name, line in lines.items() if line}
    if not drawn:
        return NOT_MEASURED
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
    for step, name in marks:
        if step <= axes.right:
            at = f'x1="{axes.x(step):.1f}" x2="{axes.x(step):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
            parts.append(f'<line {at} stroke="{colours.get(name, OTHER_COLOUR)}" stroke-dasharray="4 3"/>')
    return svg(parts)


def trajectories(paths: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, up: str) -> str:
    """An SVG of paths in the unit square, each with a circle at its first point. A path is (arm, points)."""
    colours = colours_of(list(dict.fromkeys(name for name, _ in paths)))
    if not any(points for _, points in paths):
        return NOT_MEASURED
    axes = Axes(1.0, ticks(0.0, 1.0))
    parts = [*axes.grid(axes.ys, f"{across}; upward: {up}")]
    for arm, points in paths:
        if points:
            style = f'fill="none" stroke="{colours[arm]}"'
            parts.append(f'<polyline points="{axes.places(points)}" {style} stroke-width="1.6" opacity="0.8"/>')
            first, height = points[0]
            parts.append(f'<circle cx="{axes.x(first):.1f}" cy="{axes.y(height):.1f}" r="4" {style}/>')
    return svg(parts)


def svg(parts: Sequence[str]) -> str:
    """The whole picture."""
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'
