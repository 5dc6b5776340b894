"""The mapping from values to places in a figure, and the grid behind its lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 30


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
