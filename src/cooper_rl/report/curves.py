"""Line figures as inline SVG: no script, so that the report needs no network and runs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

ARM_ORDER = ("rule", "static", "cooper", "hybrid")
COLOURS = {"rule": "#6b7f99", "static": "#d9572b", "cooper": "#1f8a70", "hybrid": "#8a5fbf"}
PALETTE = ("#1f8a70", "#d9572b", "#6b7f99", "#8a5fbf", "#b9a03a", "#3a7ab9", "#b94a7c", "#5f8f3a")
WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30

Line = Sequence[tuple[int, float, float, float]]  # step, mean, least, greatest


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """The arms' own colours; other names get those of the palette in their order."""
    return {name: COLOURS.get(name, PALETTE[i % len(PALETTE)]) for i, name in enumerate(names)}


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values that cover the range."""
    raw = (high - low) / max(1, count - 1) or 1.0
    magnitude = 10 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def smooth(line: Line, most: int = 40) -> Line:
    """Means over blocks of neighbouring steps where a line has more than `most` points."""
    size = -(-len(line) // most)
    blocks = [line[start : start + size] for start in range(0, len(line), size or 1)]

    def mean(block: Line, i: int) -> float:
        return fmean(point[i] for point in block)

    return [(block[-1][0], mean(block, 1), mean(block, 2), mean(block, 3)) for block in blocks]


def figure(
    lines: Mapping[str, Line],
    *,
    share: bool = False,
    marks: Sequence[tuple[int, str]] = (),
    colours: Mapping[str, str] | None = None,
) -> str:
    """An SVG with a line and a band for each name; a note where nothing was measured. A share's axis is 0 to 1.

    Args:
        marks: (step, name) of dashed vertical lines.
    """
    colours = colours or colours_of(list(lines))
    drawn = {name: smooth(line) for name, line in lines.items() if line}
    if not drawn:
        return '<p class="muted">not measured in these runs</p>'
    xs = ticks(0, max(point[0] for line in drawn.values() for point in line) or 1)
    low = min(point[2] for line in drawn.values() for point in line)
    high = max(point[3] for line in drawn.values() for point in line)
    ys = ticks(0.0, 1.0) if share else ticks(low, high)
    if len(ys) < 2:
        ys = [ys[0], ys[0] + 1]
    right = max(point[0] for line in drawn.values() for point in line) or 1

    def x(step: float) -> float:
        return LEFT + step / right * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    for value in ys:
        parts.append(
            f'<line class="gridline" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in xs:
        if value <= right:
            parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 1}" text-anchor="end">step</text>')
    for name, line in drawn.items():
        colour = colours.get(name, "#888")
        upper = [f"{x(s):.1f},{y(high):.1f}" for s, _, _, high in line]
        lower = [f"{x(s):.1f},{y(low):.1f}" for s, _, low, _ in reversed(line)]
        mean = " ".join(f"{x(s):.1f},{y(value):.1f}" for s, value, _, _ in line)
        parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" opacity="0.15"/>')
        parts.append(f'<polyline points="{mean}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for step, name in marks:
        if step <= right:
            at = f'x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"'
            parts.append(f'<line {at} stroke="{colours.get(name, "#888")}" stroke-dasharray="4 3"/>')
    return "".join(parts) + "</svg>"


def trajectories(paths: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: str, up: str) -> str:
    """An SVG of paths in the unit square, (arm, points) each, a ring at each first point."""
    colours = colours_of(list(dict.fromkeys(name for name, _ in paths)))
    if not any(points for _, points in paths):
        return '<p class="muted">not measured in these runs</p>'

    def x(value: float) -> float:
        return LEFT + value * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">']
    for value in ticks(0.0, 1.0):
        ends = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"'
        parts.append(f'<line class="gridline" {ends}/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - 14}" text-anchor="middle">{value:g}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 1}" text-anchor="end">{across}; upward: {up}</text>')
    for arm, points in paths:
        if points:
            colour = colours[arm]
            places = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
            parts.append(
                f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.6" opacity="0.8"/>'
            )
            a, b = points[0]
            parts.append(f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="none" stroke="{colour}"/>')
    return "".join(parts) + "</svg>"
