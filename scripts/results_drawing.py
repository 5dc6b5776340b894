"""The drawings of the results, as SVG files. scripts/rebuild_results.py writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from statistics import fmean

from cooper_rl.report.curves import colours_of

NAMES = 62  # characters in a row of a legend
WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30
Line = Sequence[tuple[int, float, float, float]]  # step, mean, least, greatest


def drawn(lines: dict[str, list[tuple[int, float, float, float]]], label: str = "step") -> str:
    """A figure of one metric as a file of its own: lines of (place, mean, least, greatest), with a legend."""
    style = "<style>svg{background:#fff}text{fill:#5b6675;font:11px sans-serif}.gridline{stroke:#dfe4ea}</style>"
    inside = (
        figure(lines)
        .replace(">step<", f">{escape(label)}<")
        .replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="480" ', 1)
    )
    rows: list[list[str]] = [[]]  # of the legend
    for arm in lines:
        if rows[-1] and len("  ".join([*rows[-1], arm])) > NAMES:
            rows.append([])
        rows[-1].append(arm)
    colours, height = colours_of(list(lines)), 6 + 14 * len(rows)
    legend = "".join(
        f'<text x="{LEFT}" y="{14 * place + 14 - height}">'
        + "".join(
            f'<tspan dx="{12 * (number > 0)}" style="fill:{colours[arm]}">{escape(arm)}</tspan>'
            for number, arm in enumerate(row)
        )
        + "</text>"
        for place, row in enumerate(rows)
    )
    taller = inside.replace(f'viewBox="0 0 {WIDTH} {HEIGHT}"', f'viewBox="0 {-height} {WIDTH} {HEIGHT + height + 4}"')
    return re.sub(r"(<svg[^>]*>)", rf"\1{style}{legend}", taller, count=1) + "\n"


def figure(lines: Mapping[str, Line]) -> str:
    """An SVG with a line and a band for each name, on an axis from 0 to 1."""
    measured = {name: line for name, line in lines.items() if line}
    blocks = blocks_of(measured.values())
    drawn = {name: smooth(own) for name, own in zip(measured, blocks, strict=True)}
    last = max(step for line in drawn.values() for step, *_ in line)
    axes, colours = Axes(last or 1, ticks(0.0, 1.0)), colours_of(list(lines))
    parts = [*axes.grid(ticks(0, last or 1), "step")]
    for name, line in drawn.items():
        upper = [(step, high) for step, _, _, high in line]
        lower = [(step, low) for step, _, low, _ in reversed(line)]
        mean = axes.places((step, value) for step, value, _, _ in line)
        parts.append(f'<polygon points="{axes.places(upper + lower)}" fill="{colours[name]}" opacity="0.15"/>')
        parts.append(f'<polyline points="{mean}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        if len(line) == 1:
            x, y = axes.x(line[0][0]), axes.y(line[0][1])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colours[name]}"/>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def band(series: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float, float, float]]:
    """(step, mean, least, greatest) over runs, at the steps that all runs have."""
    by_step: dict[int, list[float]] = {}
    for each in series:
        for step, value in each:
            by_step.setdefault(step, []).append(value)
    full = sum(bool(each) for each in series)
    return [(s, fmean(v), min(v), max(v)) for s, v in sorted(by_step.items()) if len(v) == full]


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
                fits = self.x(value) + 3.1 * len(f"{value:g}") <= WIDTH  # half of it: a digit is some 6 units wide
                anchor = "middle" if fits else "end"
                yield f'<text x="{self.x(value):.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{value:g}</text>'
        yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 1}" text-anchor="end">{label}</text>'
