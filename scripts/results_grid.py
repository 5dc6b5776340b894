"""Which arm to take, by two figures: a grid as an SVG file, for words of docs/data that have `grid`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from statistics import fmean, variance
from typing import Any, NamedTuple

from cooper_rl.intervals import student
from cooper_rl.report.curves import colours_of

Values = Callable[[str], Sequence[float]]  # of an arm, one for each seed
LEFT, TOP, WIDTH, HEIGHT, GAP = 106, 50, 172, 62, 4
STYLE = (
    "<style>svg{background:#fff}text{fill:#5b6675;font:11px sans-serif}"
    ".arm{fill:#1f2933;font-size:12px;font-weight:600}.means{fill:#1f2933}</style>"
)


class Cell(NamedTuple):
    """The simplest arm that is not shown to be below the best one of its place.

    Args:
        name: of its line.
        mean: over its seeds.
        other: the line that it is compared with: the simplest one of its place, or the best other where it is that one.
        above: by how much it is above `other`.
        half: half of the 95 % interval of `above`; infinite where the seeds do not tell.
    """

    name: str
    mean: float
    other: str = ""
    above: float = 0.0
    half: float = math.inf


def arm_at(points: Mapping[Any, str], place: Any) -> str | None:
    """The arm of a line at a place. A line of one arm has it everywhere."""
    arms = set(points.values())
    return arms.pop() if len(arms) == 1 else points.get(place)


def cell_of(means: Mapping[str, Sequence[float]], spread: tuple[float, int]) -> Cell:
    """The arm to take.

    Args:
        means: the values of each line at this place, the simplest line first.
        spread: the variance of a seed's value, and its degrees of freedom.
    """

    def half(one: str, other: str) -> float:
        pooled, freedom = spread
        seeds = sum(1 / len(means[name]) for name in (one, other))
        return student(freedom + 1) * math.sqrt(pooled * seeds) if freedom else math.inf

    mean = {name: fmean(values) for name, values in means.items()}
    best = max(mean, key=mean.__getitem__)
    name = next(name for name in mean if mean[best] - mean[name] <= half(name, best))
    if len(mean) == 1:
        return Cell(name, mean[name])
    simplest = next(iter(mean))
    other = simplest if name != simplest else max((n for n in mean if n != name), key=mean.__getitem__)
    return Cell(name, mean[name], other, mean[name] - mean[other], half(name, other))


def pooled(samples: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The variance of a seed's value, pooled over the arms, and its degrees of freedom."""
    freedom = sum(len(values) - 1 for values in samples)
    squares = sum(variance(values) * (len(values) - 1) for values in samples if len(values) > 1)
    return (squares / freedom if freedom else 0.0), freedom


def cells(lines: Mapping[str, Mapping[Any, str]], grid: Mapping[str, Any], values: Values) -> dict[Any, Cell]:
    """Of a column, by row.

    Args:
        lines: the arm of each line at each place.
        grid: the words: `simplest_first` has the lines that are compared, `rows` the places with their labels.
    """
    candidates = {name: lines[name] for name in grid["simplest_first"]}
    arms = {arm for points in candidates.values() for arm in points.values()}
    spread = pooled([values(arm) for arm in sorted(arms) if values(arm)])
    found: dict[Any, Cell] = {}
    for place in grid["rows"]:
        here = {name: arm_at(points, place) for name, points in candidates.items()}
        found[place] = cell_of({name: values(arm) for name, arm in here.items() if arm and values(arm)}, spread)
    return found


def grid_drawing(curves: Mapping[str, Any], grid: Mapping[str, Any], values: Values) -> str:
    """The picture: a column for each of `columns`, which are titles of `curves`, and a row for each of `rows`."""
    columns = {title: cells(curves[title]["lines"], grid, values) for title in grid["columns"]}
    colours = colours_of(list(curves[next(iter(columns))]["lines"]))  # as in the drawings of the curves
    width = LEFT + len(columns) * (WIDTH + GAP) + GAP
    height = TOP + len(grid["rows"]) * (HEIGHT + GAP) + GAP
    parts = [
        f'<text x="{LEFT}" y="16">{escape(grid["across"])}</text>',
        f'<text x="4" y="38">{escape(grid["down"])}</text>',
    ]
    for number, (title, column) in enumerate(columns.items()):
        x = LEFT + number * (WIDTH + GAP)
        parts.append(f'<text class="arm" x="{x + 8}" y="38">{escape(str(grid["columns"][title]))}</text>')
        for row, (place, cell) in enumerate(column.items()):
            y = TOP + row * (HEIGHT + GAP)
            if not number:
                parts.append(f'<text class="arm" x="4" y="{y + 35}">{escape(str(grid["rows"][place]))}</text>')
            parts.append(f'<g transform="translate({x} {y})">{"".join(box(cell, colours[cell.name]))}</g>')
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{STYLE}{"".join(parts)}</svg>\n'


def box(cell: Cell, colour: str) -> Iterator[str]:
    """The SVG of a cell, its upper left corner at 0, 0."""
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{colour}" opacity="0.2"/>'
    yield f'<rect width="4" height="{HEIGHT}" fill="{colour}"/>'
    yield f'<text class="arm" x="12" y="19">{escape(cell.name)}</text>'
    above = ""
    if cell.other:
        above = (
            f"{cell.above:+.3f} ± {cell.half:.3f} to"
            if math.isfinite(cell.half)
            else f"{cell.above:+.3f}, one seed, to"
        )
        yield f'<text x="12" y="52">{escape(cell.other)}</text>'
    yield f'<text x="12" y="36"><tspan class="means">{cell.mean:.3f}</tspan><tspan dx="10">{above}</tspan></text>'
