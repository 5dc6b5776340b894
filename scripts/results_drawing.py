"""The drawings of the results, as SVG files. scripts/rebuild_results.py writes them."""

from __future__ import annotations

import re
from html import escape

from cooper_rl.report.curves import HEIGHT, LEFT, WIDTH, colours_of, figure

NAMES = 62  # characters in a row of a legend


def drawn(lines: dict[str, list[tuple[int, float, float, float]]], label: str = "step") -> str:
    """A figure of one metric as a file of its own: lines of (place, mean, least, greatest), with a legend."""
    style = "<style>svg{background:#fff}text{fill:#5b6675;font:11px sans-serif}.gridline{stroke:#dfe4ea}</style>"
    inside = (
        figure(lines, share=True)
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
