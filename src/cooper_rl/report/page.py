"""HTML that the report and the live page share: style, scripts, escaping, tables, rollouts and pairs."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cooper_rl.records import THRESHOLD, Reason, Verdict, Verification
from cooper_rl.report.curves import ARM_ORDER

CELLS = {  # the combinations of the reward model's and the rule's judgement of a completion
    "fooled": f"score above {THRESHOLD:g}, rule wrong",
    "missed": f"score below {THRESHOLD:g}, rule right",
    "right": "both right",
    "wrong": "both wrong",
    "unclear": "rule cannot tell",
}

HERE = Path(__file__).parent
STYLE = (HERE / "style.css").read_text()
PLOTLY = (HERE / "plotly-basic.min.js").read_text(encoding="utf-8")  # MIT licence: plotly-LICENSE.txt
CHARTS = (HERE / "charts.js").read_text()
HOW_TO_READ = (
    "Point at a figure to read all its values at a step, or move with the arrow keys. Drag to zoom into steps; a double"
    " click shows all. A name switches its line on and off. A dashed line is a hacking alarm."
    " A band is a 95 % interval: of a held-out accuracy by its problems, of what each step measures by five steps."
    " Around a mean of several seeds it goes from the least to the greatest of them."
)
NO_SCRIPT = "The charts and the rollouts need the page's script; the same figures are in each run's metrics.jsonl."
TURNING = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")  # bidirectional control characters


def escape(text: object) -> str:
    """Text escaped for HTML, so that what a model wrote stays text. Marks of direction are shown, as `\\u202e`."""
    return html.escape(TURNING.sub(lambda mark: f"\\u{ord(mark[0]):04x}", str(text)), quote=True)


def rank(arm: str) -> int:
    """An arm's place in the usual order."""
    return ARM_ORDER.index(arm) if arm in ARM_ORDER else len(ARM_ORDER)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """An HTML table. The first row is the header; a narrow screen shows each further row as a card."""
    header, *lines = [[escape(cell) for cell in row] for row in rows]
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-of="{name}"><span>{cell}</span></td>' for name, cell in zip(header, line, strict=True))
        + "</tr>"
        for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def charts_frame(text: str = "") -> str:
    """Where the page's script puts the charts.

    Args:
        text: their data, packed; empty on a page that asks for them.
    """
    return f'{data("charts-data", text) if text else ""}<div id="charts"></div><noscript><p>{NO_SCRIPT}</p></noscript>'


def data(name: str, text: str) -> str:
    """Data in the page that the browser does not run."""
    return f'<script type="text/plain" id="{name}">{text}</script>'


def pack(text: str) -> str:
    """Text compressed, in base64."""
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()


def cell_of(record: Mapping[str, Any]) -> str:
    """The cell of `CELLS` that a rollout belongs to. Without a score, only the rule's verdict decides."""
    judged, score = verification_of(record), record.get("score")
    if judged.verdict is Verdict.CORRECT:
        return "missed" if score is not None and score <= THRESHOLD else "right"
    if judged.surely_wrong:
        return "fooled" if (score or 0) > THRESHOLD else "wrong"
    return "unclear"


def verification_of(record: Mapping[str, Any]) -> Verification:
    """The rule's verdict in a line of `rollouts/`; ERROR for a verdict that this version does not know."""
    try:
        verdict, reason = Verdict(str(record.get("verdict"))), Reason(record.get("reason", Reason.MISMATCH))
        return Verification(verdict, reason, several_answers=bool(record.get("several_answers")))
    except ValueError:
        return Verification(Verdict.ERROR, Reason.CRASH)


def steps_of(record: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Where a rollout's steps end, and the value after each; empty where the run has no values of steps."""
    steps = zip(record.get("step_ends", ()), record.get("step_values", ()), strict=False)
    return [(end, value) for end, value in steps if value is not None]


def completion_of(record: Mapping[str, Any]) -> str:
    """A rollout's completion as HTML, its steps coloured by their values."""
    text, start, spans = str(record.get("completion", "")), 0, []
    for end, value in steps_of(record):
        spans.append(
            f'<span class="step" style="--value:{value:.3f}" title="value {value:.3f}">{escape(text[start:end])}</span>'
        )
        start = end
    return "".join(spans) + escape(text[start:])


def rollout(record: Mapping[str, Any], name: str, number: int) -> str:
    """One rollout, or completion of a held-out problem, with its judgements and its address, as HTML.

    Args:
        name: its run's `address`.
        number: its place in its step, from 1 on.
    """
    score, verdict, step = record.get("score"), escape(record.get("verdict", "?")), escape(record.get("step", "?"))
    judged = f"score {score:.3f}, " if isinstance(score, float) else ""
    reward = record.get("reward")
    if "solved" in record:  # a completion of a held-out problem
        judged += {True: "solved", False: "not solved"}.get(record["solved"], "no scorer")
    else:
        judged += "no reward, since it could not be judged" if reward is None else f"reward {reward:.3f}"
    address = f"{name}/{step}/{number}"
    return (
        f'<div class="rollout cell-{cell_of(record)}" id="{address}">'
        f"<div>{escape(record.get('question', ''))}</div>"
        f"<pre>{completion_of(record)}</pre>"
        f'<div class="muted">step {step}, rollout {number} · reference {escape(record.get("reference_answer", ""))}'
        f' · <span class="{verdict}">{verdict}</span> · {judged} · <a href="#{address}">link</a></div></div>'
    )


def pair(record: Mapping[str, Any]) -> str:
    """One pair of stage 2, as HTML."""
    right, wrong = (escape(record.get(f"{side}_source", "?")) for side in ("positive", "negative"))
    origin = f"step {escape(record.get('step', '?'))} · reference {escape(record.get('reference_answer', ''))}"
    return (
        f'<div class="rollout"><div>{escape(record.get("question", ""))}</div>'
        f"<pre>{escape(record.get('positive', ''))}</pre><pre>{escape(record.get('negative', ''))}</pre>"
        f'<div class="muted">{origin} · above: right ({right}), below: wrong ({wrong})</div></div>'
    )
