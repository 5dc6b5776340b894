"""Draws which part of the package imports which, the picture of docs/architecture.md, from the imports themselves.

python scripts/architecture_picture.py     writes docs/figures/architecture.svg

A room is a folder of the package, or a module that imports one. Every arrow points down, to what a room imports. An
import is not drawn where a longer way leads to the same room. What all rooms may import is one box at the bottom.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TARGET = ROOT / "src" / "cooper_rl", ROOT / "docs" / "figures" / "architecture.svg"
BELOW_ALL = {"settings", "columns"}  # folders of the ground floor, where else only single modules are
ROOM_WIDTH, ROOM_HEIGHT, GAP, STOREY, LANE = 124, 46, 18, 84, 20
FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"
GROUND, BOX, BORDER, TEXT, SOFT, ARROW = "#ffffff", "#f4f6f8", "#c5ccd3", "#1b2129", "#4a5563", "#2463a8"
TITLE = "The rooms of cooper_rl: an arrow leads from a room to one that it imports"
Edges = dict[str, set[str]]
Point = tuple[float, float]


def imports_of(source: str) -> set[str]:
    """The parts of the package that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "cooper_rl":
            found |= {f"cooper_rl.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("cooper_rl.")}


def read_package() -> tuple[Edges, dict[str, int]]:
    """What each part imports, and how many modules it has."""
    edges: Edges = {}
    sizes: dict[str, int] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part != "__init__":
            edges.setdefault(part, set()).update(imports_of(path.read_text()) - {part})
            sizes[part] = sizes.get(part, 0) + 1
    return edges, sizes


def ground_floor(edges: Edges) -> set[str]:
    """The single modules, and `BELOW_ALL`, that import nothing but one another."""
    ground: set[str] = set()
    while True:
        low = {part for part, own in edges.items() if own <= ground}
        more = {part for part in low if part in BELOW_ALL or (PACKAGE / f"{part}.py").is_file()} - ground
        if not more:
            return ground
        ground |= more


def without_detours(edges: Edges) -> Edges:
    """The imports without those that a longer way shows, too."""

    def reach(part: str) -> set[str]:
        return edges[part].union(*map(reach, edges[part]))

    return {part: own - set().union(*map(reach, own)) for part, own in edges.items()}


def storeys_of(edges: Edges) -> dict[str, int]:
    """The storey of each room: above all that it imports. What imports no room is right below its lowest importer."""
    storeys: dict[str, int] = {}
    while len(storeys) < len(edges):
        for part, own in edges.items():
            if part not in storeys and own <= storeys.keys():
                storeys[part] = 1 + max((storeys[one] for one in own), default=-1)
    for part in (part for part, own in edges.items() if not own):
        storeys[part] = min((storeys[above] for above, own in edges.items() if part in own), default=1) - 1
    return storeys


def place(edges: Edges, storeys: Mapping[str, int]) -> tuple[dict[str, Point], list[list[str]]]:
    """The centre of each room and lane, and each arrow as the rooms and lanes that it goes through.

    A lane is the place that an arrow has on a storey that it passes.
    """
    rows: list[list[str]] = [[] for _ in range(max(storeys.values()) + 1)]
    for part in sorted(storeys):
        rows[storeys[part]].append(part)
    ways = []
    for part, own in sorted(edges.items()):
        for below in sorted(own):
            lanes = {level: f"{part}>{below}@{level}" for level in range(storeys[part] - 1, storeys[below], -1)}
            for level, lane in lanes.items():
                rows[level].append(lane)
            ways.append([part, *lanes.values(), below])
    beside: dict[str, set[str]] = {}
    for way in ways:
        for one, other in pairwise(way):
            beside.setdefault(one, set()).add(other)
            beside.setdefault(other, set()).add(one)
    centres: dict[str, Point] = {}
    for sweep in range(24):
        for level in range(len(rows))[:: 1 if sweep % 2 else -1]:
            near = {one: [centres[o][0] for o in beside.get(one, ()) if o in centres] for one in rows[level]}
            middle = {one: fmean(found) if found else 0.0 for one, found in near.items()}
            rows[level].sort(key=lambda one, middle=middle: (middle[one], one))
            centres |= dict(zip(rows[level], across(rows[level], len(rows) - level), strict=True))
    return centres, ways


def across(row: Sequence[str], storey: int) -> Iterator[Point]:
    """The centres of a row, which is centred at 0."""
    widths = [LANE if ">" in one else ROOM_WIDTH for one in row]
    left = -(sum(widths) + GAP * (len(row) - 1)) / 2
    for width in widths:
        yield left + width / 2, storey * STOREY - STOREY / 2
        left += width + GAP


def picture() -> str:
    """The whole SVG; its ground is its own, so that it can be read on any page."""
    every, sizes = read_package()
    ground = ground_floor(every)
    edges = without_detours({part: own - ground for part, own in every.items() if part not in ground})
    centres, ways = place(edges, storeys_of(edges))
    half = max(abs(x) for x, _ in centres.values()) + ROOM_WIDTH / 2 + 20
    lines = list(wrap(sorted(ground), int(2 * half / 7.4)))
    bottom = max(y for _, y in centres.values()) + ROOM_HEIGHT
    height = bottom + 44 + 18 * len(lines)
    parts = [arrow([centres[one] for one in way]) for way in ways]
    for name in sorted(edges):
        x, y = centres[name]
        counted = f"{sizes[name]} module{'s' * (sizes[name] > 1)}"
        parts += [box(x, y, ROOM_WIDTH, ROOM_HEIGHT), text(x, y - 2, name, TEXT, bold=True), text(x, y + 15, counted)]
    tall = 34 + 18 * len(lines)
    parts += [box(0, bottom + tall / 2, 2 * half - 24, tall), text(0, bottom + 20, "for all rooms", TEXT, bold=True)]
    parts += [text(0, bottom + 20 + 18 * row, line) for row, line in enumerate(lines, 1)]
    view = f'viewBox="{-half:.0f} 0 {2 * half:.0f} {height:.0f}" width="{2 * half:.0f}" height="{height:.0f}"'
    ground_box = f'<rect x="{-half:.0f}" width="{2 * half:.0f}" height="{height:.0f}" rx="10" fill="{GROUND}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {view} role="img" aria-label="{TITLE}" font-family="{FONT}">'
    return "\n".join([head, f"<title>{TITLE}</title>", ground_box, *parts, "</svg>"]) + "\n"


def wrap(names: Sequence[str], most: int) -> Iterator[str]:
    """The names in lines of at most so many characters."""
    line = ""
    for name in names:
        if line and len(line) + len(name) + 3 > most:
            yield line
            line = ""
        line = f"{line} · {name}" if line else name
    yield line


def arrow(points: Sequence[Point]) -> str:
    """A curve from the lower edge of the first room through lanes to the upper edge of the last."""
    (x, y), half = points[0], ROOM_HEIGHT / 2
    way = f"M{x:.0f},{y + half:.0f}"
    for (from_x, from_y), (x, y) in pairwise(points):
        start, end = from_y + half, y - half
        middle = (start + end) / 2
        way += f" C{from_x:.0f},{middle:.0f} {x:.0f},{middle:.0f} {x:.0f},{end:.0f}"
        way += f" L{x:.0f},{y + half:.0f}" if (x, y) != points[-1] else ""
    head = f"{x:.0f},{y - half:.0f} {x - 4:.0f},{y - half - 8:.0f} {x + 4:.0f},{y - half - 8:.0f}"
    return (
        f'<path d="{way}" fill="none" stroke="{ARROW}" stroke-width="1.4" opacity="0.75"/>'
        f'<polygon points="{head}" fill="{ARROW}"/>'
    )


def box(x: float, y: float, width: float, height: float) -> str:
    """A rounded box around its centre."""
    size = f'width="{width:.0f}" height="{height:.0f}" rx="8"'
    return f'<rect x="{x - width / 2:.0f}" y="{y - height / 2:.0f}" {size} fill="{BOX}" stroke="{BORDER}"/>'


def text(x: float, y: float, words: str, colour: str = SOFT, *, bold: bool = False) -> str:
    """A line of text, centred."""
    font = 'font-size="15" font-weight="700"' if bold else 'font-size="12"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {font} text-anchor="middle" fill="{colour}">{words}</text>'


def main() -> None:
    TARGET.write_text(picture())


if __name__ == "__main__":
    main()
