"""HTML that the report and the live page share: style, escaping, tables, figures, rollouts and pairs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from cooper_rl.records import THRESHOLD, Reason, Verdict, Verification
from cooper_rl.report.curves import ARM_ORDER, colours_of, figure
from cooper_rl.report.runs import Run

CURVES = (
    ("reward", "Mean reward", "mean over the step's rollouts"),
    ("accuracy/rule", "Rule accuracy", "share of rollouts the rule verifier finds correct"),
    ("eval/true_accuracy", "True accuracy", "held-out problems, the generators' own scorers"),
    ("eval/reward_model_accuracy", "Reward model accuracy", "balanced, on frozen held-out triples"),
    ("hacking/false_positive_rate", "False positives", "share of surely wrong rollouts scored above 0.5"),
    ("reward_model/anchor_accuracy", "Guard: anchors", "balanced accuracy at each check of the whole set"),
    ("kl", "KL to the base policy", "per token"),
    ("completions/mean_length", "Completion length", "tokens"),
)
CELLS = {  # the combinations of the reward model's and the rule's judgement of a completion
    "fooled": f"score above {THRESHOLD:g}, rule wrong",
    "missed": f"score below {THRESHOLD:g}, rule right",
    "right": "both right",
    "wrong": "both wrong",
    "unclear": "rule cannot tell",
}

STYLE = Path(__file__).with_name("style.css").read_text() + "".join(
    f".browser:has(input[value={cell}]:checked) .rollout:not(.cell-{cell}){{display:none}}\n" for cell in CELLS
)


def escape(text: object) -> str:
    """Text escaped for HTML, so that what a model wrote stays text."""
    return html.escape(str(text), quote=True)


def rank(arm: str) -> int:
    """An arm's place in the usual order."""
    return ARM_ORDER.index(arm) if arm in ARM_ORDER else len(ARM_ORDER)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """An HTML table. The first row is the header."""
    header = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table></div>'


def legend(names: Sequence[str], colours: Mapping[str, str] | None = None) -> str:
    """Names with their colours."""
    colours = colours or colours_of(names)
    items = (f'<span><i style="background:{colours.get(n, "#888")}"></i>{escape(n)}</span>' for n in names)
    return f'<div class="legend">{"".join(items)}</div>'


def curve(runs: Sequence[Run], arms: Sequence[str], key: str, title: str, note: str) -> str:
    """One figure with a line per arm: the mean over its seeds, with their range, and a dashed line at each alarm."""
    lines = {arm: band([run.series(key) for run in runs if run.arm == arm]) for arm in arms}
    marks = [(run.alarm_step, run.arm) for run in runs if run.alarm_step is not None]
    drawn = figure(lines, share="reward" in key or "accuracy" in key or "rate" in key, marks=marks)
    return plot(title, note, drawn)


def plot(title: str, note: str, drawn: str) -> str:
    """A titled figure."""
    return f'<div class="plot"><h3>{escape(title)}</h3><div class="muted">{escape(note)}</div>{drawn}</div>'


def band(series: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float, float, float]]:
    """(step, mean, least, greatest) over runs, at the steps that all runs have."""
    by_step: dict[int, list[float]] = {}
    for each in series:
        for step, value in each:
            by_step.setdefault(step, []).append(value)
    full = sum(bool(each) for each in series)
    return [(s, fmean(v), min(v), max(v)) for s, v in sorted(by_step.items()) if len(v) == full]


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


def rollout(record: Mapping[str, Any]) -> str:
    """One rollout with its judgements, as HTML."""
    score, verdict = record.get("score"), escape(record.get("verdict", "?"))
    judged = f"score {score:.3f}, " if isinstance(score, float) else ""
    judged += f"reward {record.get('reward') or 0:.3f}"
    return (
        f'<div class="rollout cell-{cell_of(record)}"><div>{escape(record.get("question", ""))}</div>'
        f"<pre>{escape(record.get('completion', ''))}</pre>"
        f'<div class="muted">{origin_of(record)} · <span class="{verdict}">{verdict}</span> · {judged}</div></div>'
    )


def pair(record: Mapping[str, Any]) -> str:
    """One pair of stage 2, as HTML."""
    right, wrong = (escape(record.get(f"{side}_source", "?")) for side in ("positive", "negative"))
    return (
        f'<div class="rollout"><div>{escape(record.get("question", ""))}</div>'
        f"<pre>{escape(record.get('positive', ''))}</pre><pre>{escape(record.get('negative', ''))}</pre>"
        f'<div class="muted">{origin_of(record)} · above: right ({right}), below: wrong ({wrong})</div></div>'
    )


def origin_of(record: Mapping[str, Any]) -> str:
    """The step and the reference answer of a record."""
    return f"step {escape(record.get('step', '?'))} · reference {escape(record.get('reference_answer', ''))}"


def browser(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    """Rollouts with a choice of cells. Style sheets alone show and hide them, so that no script runs."""
    counts = {cell: sum(cell_of(r) == cell for r in records) for cell in CELLS}
    options = [("all", f"all ({len(records)})", " checked")]
    options += [(cell, f"{title} ({counts[cell]})", "") for cell, title in CELLS.items() if counts[cell]]
    group = escape(name)
    choice = "".join(
        f'<label><input type="radio" name="{group}" value="{value}"{on}> {escape(title)}</label>'
        for value, title, on in options
    )
    return f'<div class="browser"><div class="choice">{choice}</div>{"".join(map(rollout, records))}</div>'
