"""Draws the joint step, the picture of docs/concepts.md and README.md.

python scripts/joint_step_figure.py     writes docs/figures/joint-step-light.svg and joint-step-dark.svg

The picture has two loops: stage 1 changes the policy, stage 2 changes the reward model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
WIDTH, HEIGHT = 480, 372
COLUMNS, ROWS = (78, 240, 402), (112, 268)  # the centres of the boxes
BOX_WIDTH, BOX_HEIGHT = 136, 56
TITLE = "The joint step: stage 1 trains the policy, stage 2 trains the reward model"
BOXES = (  # row, column, name, what it does
    (0, 0, "policy", "writes"),
    (0, 1, "completions", "G a problem"),
    (0, 2, "rule verifier", "right or wrong?"),
    (1, 0, "GRPO step", "to more reward"),
    (1, 1, "VerifyRM", "score = reward"),
    (1, 2, "pair step", "right over wrong"),
)
FONT = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif"


@dataclass(frozen=True)
class Theme:
    """The colours of a picture: its ground, its boxes, their text, and one for each stage."""

    name: str
    ground: str
    box: str
    border: str
    text: str
    soft: str
    stages: tuple[str, str]


THEMES = (
    Theme("light", "#ffffff", "#f4f6f8", "#c5ccd3", "#1b2129", "#4a5563", ("#2463a8", "#14725a")),
    Theme("dark", "#15191f", "#222932", "#46515d", "#eef1f4", "#b4bec9", ("#82b8f0", "#56cca8")),
)


def picture(theme: Theme) -> str:
    """The whole SVG; its ground is its own, so that it can be read on any page."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{TITLE}" font-family="{FONT}">',
        f"<title>{TITLE}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{theme.ground}"/>',
        *titles(theme),
        *arrows(theme),
        *boxes(theme),
        text(240, 330, "Order: judge and score, the policy's step, the pair step.", theme.soft),
        text(240, 352, "So a reward is from VerifyRM before this step's update.", theme.soft),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def titles(theme: Theme) -> Iterator[str]:
    """The names of the two loops, above them in their colours."""
    first, second = theme.stages
    yield text(10, 34, "Stage 1", first, size=17, bold=True, anchor="start")
    yield text(10, 56, "the policy learns", first, anchor="start")
    yield text(470, 34, "Stage 2", second, size=17, bold=True, anchor="end")
    yield text(470, 56, "the reward model learns", second, anchor="end")


def boxes(theme: Theme) -> Iterator[str]:
    """The six parts, each with its name and what it does."""
    for row, column, name, does in BOXES:
        x, y = COLUMNS[column], ROWS[row]
        place = f'x="{x - BOX_WIDTH // 2}" y="{y - BOX_HEIGHT // 2}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"'
        yield f'<rect {place} fill="{theme.box}" stroke="{theme.border}"/>'
        yield text(x, y - 4, name, theme.text, size=16, bold=True)
        yield text(x, y + 17, does, theme.soft)


def arrows(theme: Theme) -> Iterator[str]:
    """The two loops, which meet in the middle column."""
    first, second = theme.stages
    left, middle, right = COLUMNS
    upper, lower = ROWS
    half_width, half_height = BOX_WIDTH // 2, BOX_HEIGHT // 2
    yield arrow((left + half_width, upper), (middle - half_width, upper), first)
    yield arrow((middle - half_width, lower), (left + half_width, lower), first)
    yield arrow((middle + half_width, upper), (right - half_width, upper), second)
    yield arrow((right - half_width, lower), (middle + half_width, lower), second)
    top, bottom = upper + half_height, lower - half_height
    yield from labelled((left, bottom), (left, top), ("a better", "policy"), first, theme)
    yield from labelled((middle, top), (middle, bottom), ("with question and", "reference answer"), first, theme)
    yield from labelled((right, top), (right, bottom), ("a right one and", "a wrong one"), second, theme)


def labelled(
    start: tuple[int, int], end: tuple[int, int], label: tuple[str, str], colour: str, theme: Theme
) -> Iterator[str]:
    """A vertical arrow that two lines of text interrupt."""
    (x, y), (_, last) = start, end
    centre, gap = (y + last) // 2, 24 if last > y else -24
    yield line((x, y), (x, centre - gap), colour)
    yield arrow((x, centre + gap), (x, last), colour)
    yield text(x, centre - 3, label[0], theme.text)
    yield text(x, centre + 15, label[1], theme.text)


def line(start: tuple[int, int], end: tuple[int, int], colour: str) -> str:
    """A straight line."""
    places = f'x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"'
    return f'<line {places} stroke="{colour}" stroke-width="2.5"/>'


def arrow(start: tuple[int, int], end: tuple[int, int], colour: str) -> str:
    """A horizontal or vertical line with a head at its end."""
    (x, y), (last_x, last_y) = start, end
    across, down = (last_x > x) - (last_x < x), (last_y > y) - (last_y < y)
    base = (last_x - 9 * across, last_y - 9 * down)
    corners = (
        f"{last_x},{last_y} {base[0] + 6 * down},{base[1] + 6 * across} {base[0] - 6 * down},{base[1] - 6 * across}"
    )
    return line(start, base, colour) + f'<polygon points="{corners}" fill="{colour}"/>'


def text(x: int, y: int, words: str, colour: str, *, size: int = 14, bold: bool = False, anchor: str = "middle") -> str:
    """A line of text at its baseline."""
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{weight} text-anchor="{anchor}" fill="{colour}">{words}</text>'


def pictures() -> dict[Path, str]:
    """Each file with its content."""
    return {FOLDER / f"joint-step-{theme.name}.svg": picture(theme) for theme in THEMES}


if __name__ == "__main__":
    for path, content in pictures().items():
        path.write_text(content, encoding="utf-8")
