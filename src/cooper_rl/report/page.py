"""HTML that the report and the live page share: style, escaping, tables, figures, rollouts and pairs."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from cooper_rl.records import THRESHOLD, Reason, Verdict, Verification
from cooper_rl.report.curves import ARM_ORDER, colours_of, figure
from cooper_rl.report.runs import Run

SHARE = "share from 0 to 1"


class Curve(NamedTuple):
    """A figure of one metric over the steps."""

    key: str
    title: str
    unit: str
    note: str


CURVES = (
    Curve("reward", "Mean reward", "reward from 0 to 1", "mean over the step's rollouts"),
    Curve("accuracy/rule", "Rule accuracy", SHARE, "of rollouts, those that the rule verifier finds correct"),
    Curve("eval/true_accuracy", "True accuracy", SHARE, "of held-out problems, by their generators' own scorers"),
    Curve("eval/reward_model_accuracy", "Reward model accuracy", SHARE, "balanced, on frozen held-out triples"),
    Curve("hacking/false_positive_rate", "False positives", SHARE, "of surely wrong rollouts, those scored above 0.5"),
    Curve("reward_model/anchor_accuracy", "Guard: anchors", SHARE, "balanced accuracy at checks of the whole set"),
    Curve("kl", "KL to the base policy", "nats per token", "mean over the step's tokens"),
    Curve("completions/mean_length", "Completion length", "tokens", "mean over the step's rollouts"),
)
CELLS = {  # the combinations of the reward model's and the rule's judgement of a completion
    "fooled": f"score above {THRESHOLD:g}, rule wrong",
    "missed": f"score below {THRESHOLD:g}, rule right",
    "right": "both right",
    "wrong": "both wrong",
    "unclear": "rule cannot tell",
}

STYLE = Path(__file__).with_name("style.css").read_text()


def escape(text: object) -> str:
    """Text escaped for HTML, so that what a model wrote stays text."""
    return html.escape(str(text), quote=True)


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


HOW_TO_READ = "Point at a figure to read its values. A dashed line is a hacking alarm."
BANDS = "A band goes from the least to the greatest of the seeds."


def legend(names: Sequence[str], colours: Mapping[str, str] | None = None) -> str:
    """Names with their colours."""
    colours = colours or colours_of(names)
    items = (f'<span><i style="background:{colours.get(n, "#888")}"></i>{escape(n)}</span>' for n in names)
    return f'<div class="legend">{"".join(items)}</div>'


def curve(runs: Sequence[Run], arms: Sequence[str], shown: Curve) -> str:
    """One figure with a line per arm: the mean over its seeds, with their range, and a dashed line at each alarm."""
    key = shown.key
    lines = {arm: band([run.series(key) for run in runs if run.arm == arm]) for arm in arms}
    marks = [(run.alarm_step, run.arm) for run in runs if run.alarm_step is not None]
    share = "reward" in key or "accuracy" in key or "rate" in key
    colours = colours_of(arms)
    return plot(
        shown.title, shown.unit, shown.note, figure(lines, share=share, marks=marks, colours=colours, unit=shown.unit)
    )


def plot(title: str, unit: str, note: str, drawn: str) -> str:
    """A titled figure with its unit."""
    return (
        f'<div class="plot"><h3>{escape(title)}</h3>'
        f'<div class="muted"><b class="unit">{escape(unit)}</b>; {escape(note)}</div>{drawn}</div>'
    )


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
    """One rollout with its judgements and its address, as HTML.

    Args:
        name: its run's `address`.
        number: its place in its step, from 1 on.
    """
    score, verdict, step = record.get("score"), escape(record.get("verdict", "?")), escape(record.get("step", "?"))
    judged = f"score {score:.3f}, " if isinstance(score, float) else ""
    reward = record.get("reward")
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
