"""One self-contained HTML file about runs: no network, model text always escaped, readable in light and dark."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from cooper_rl.monitor.curves import ARM_ORDER, COLOURS, figure
from cooper_rl.monitor.runs import Run, read_jsonl, read_run
from cooper_rl.monitor.summary import run_table, sentence, summarize, table

CURVES = (
    ("reward", "Mean reward", "what the policy is paid"),
    ("accuracy/rule", "Rule accuracy", "share of rollouts the rule verifier finds correct"),
    ("eval/true_accuracy", "True accuracy", "held-out problems, the generators' own scorers"),
    ("eval/reward_model_accuracy", "Reward model accuracy", "balanced, on frozen held-out triples"),
    ("kl", "KL to the base policy", "per token"),
    ("completions/mean_length", "Completion length", "tokens"),
)
SHOWN_ROLLOUTS = 8

STYLE = """
:root{--bg:#fff;--fg:#1c2430;--muted:#5b6675;--line:#dfe4ea;--card:#f6f8fa;--good:#1a7f4b;--bad:#b3372f;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e4e9f0;--muted:#97a3b4;--line:#2b333e;--card:#1a2029;--good:#58c78c;--bad:#f08078}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.55 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:32px 24px 64px}h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 12px}
h3{font-size:15px;margin:0}p.lead{font-size:17px;margin:8px 0 24px}.muted{color:var(--muted);font-size:13px}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(330px,1fr));gap:20px}.plot{border:1px solid var(--line);border-radius:8px;padding:14px 14px 6px}
svg{width:100%;height:auto;display:block}svg text{fill:var(--muted);font:11px system-ui,sans-serif}.gridline{stroke:var(--line)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:7px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}
th{font-weight:600;color:var(--muted);font-size:13px;white-space:normal}.legend{display:flex;gap:18px;margin:0 0 12px;flex-wrap:wrap}
.legend i{display:inline-block;width:22px;height:3px;vertical-align:middle;margin-right:6px;border-radius:2px}
details{border:1px solid var(--line);border-radius:8px;margin:8px 0;padding:8px 14px}summary{cursor:pointer;font-weight:600}
.rollout{border-top:1px solid var(--line);padding:10px 0;margin-top:8px}.rollout pre,pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);padding:8px 10px;border-radius:6px;margin:6px 0;font:13px/1.45 ui-monospace,monospace}
.CORRECT{color:var(--good);font-weight:600}.INCORRECT{color:var(--bad);font-weight:600}.fooled{border-left:3px solid var(--bad);padding-left:10px}
"""


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Writes the report of these run folders to `out` and returns it.

    Raises:
        MissingFileError, BadInputError: a folder is missing or is no run.
    """
    runs = sorted((read_run(folder) for folder in folders), key=lambda r: (_rank(r.arm), r.seed))
    arms = list(dict.fromkeys(run.arm for run in runs))
    summary = summarize(runs)
    body = [
        "<h1>Cooper: reward against truth</h1>",
        f'<p class="muted">{len(runs)} runs: {escape(", ".join(arms))}; seeds '
        f"{escape(', '.join(sorted({str(run.seed) for run in runs})))}</p>",
        f'<p class="lead">{escape(sentence(summary))}</p>',
        html_table(table(summary)),
        f"<details><summary>Each run</summary>{html_table(run_table(summary))}</details>",
        "<h2>Over the steps</h2>",
        legend(arms),
        '<div class="grid">',
        *(curve(runs, arms, *each) for each in CURVES),
        "</div>",
        "<h2>Rollouts to read</h2>",
        '<p class="muted">Marked: the reward model is above 0.5 where the rule verifier says INCORRECT or finds no answer at all.</p>',
        *(rollout_reader(next(run for run in runs if run.arm == arm)) for arm in arms),
        "<h2>Configuration and environment</h2>",
        *(origin(next(run for run in runs if run.arm == arm)) for arm in arms),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><title>Cooper report</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.part")
    temporary.write_text(page, encoding="utf-8")
    os.replace(temporary, out)
    return out


def escape(text: object) -> str:
    """Text for HTML; whatever a model wrote stays text."""
    return html.escape(str(text), quote=True)


def _rank(arm: str) -> int:
    return ARM_ORDER.index(arm) if arm in ARM_ORDER else len(ARM_ORDER)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """A table with its first row as the header."""
    header = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table></div>'


def legend(arms: Sequence[str]) -> str:
    """The arms' colours."""
    items = (f'<span><i style="background:{COLOURS.get(arm, "#888")}"></i>{escape(arm)}</span>' for arm in arms)
    return f'<div class="legend">{"".join(items)}</div>'


def curve(runs: Sequence[Run], arms: Sequence[str], key: str, title: str, note: str) -> str:
    """One figure: a line an arm, the mean over its seeds with their range behind it."""
    lines = {arm: band([run.series(key) for run in runs if run.arm == arm]) for arm in arms}
    drawn = figure(lines, share="reward" in key or "accuracy" in key)
    return f'<div class="plot"><h3>{escape(title)}</h3><div class="muted">{escape(note)}</div>{drawn}</div>'


def band(series: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float, float, float]]:
    """(step, mean, least, greatest) over runs, at steps that all of them have."""
    by_step: dict[int, list[float]] = {}
    for each in series:
        for step, value in each:
            by_step.setdefault(step, []).append(value)
    full = sum(bool(each) for each in series)
    return [(s, fmean(v), min(v), max(v)) for s, v in sorted(by_step.items()) if len(v) == full]


def rollout_reader(run: Run) -> str:
    """Rollouts of the first, the middle and the last recorded step."""
    files = run.steps_of("rollouts")
    if not files:
        return ""
    chosen = dict.fromkeys([files[0], files[len(files) // 2], files[-1]])
    parts = [f"<h3>{escape(run.arm)}, seed {run.seed}</h3>"]
    for path in chosen:
        records = read_jsonl(path)
        fooled = [r for r in records if is_fooled(r)]
        rest = [r for r in records if not is_fooled(r)]
        shown = (fooled[: SHOWN_ROLLOUTS // 2] + rest)[:SHOWN_ROLLOUTS]
        step = records[0]["step"] if records else "?"
        rollouts = "".join(map(rollout, shown))
        parts.append(f"<details><summary>step {escape(step)}</summary>{rollouts}</details>")
    return "".join(parts)


def is_fooled(record: dict[str, Any]) -> bool:
    """The reward model above 0.5 on what the rule finds INCORRECT, or without any answer."""
    wrong = record.get("verdict") == "INCORRECT" or record.get("reason") == "no_answer"
    return wrong and (record.get("score") or 0) > 0.5


def rollout(record: dict[str, Any]) -> str:
    """One rollout with its judgements."""
    score = record.get("score")
    verdict = escape(record.get("verdict", "?"))
    figures = f"score {score:.3f}, " if isinstance(score, float) else ""
    figures += f"reward {record.get('reward') or 0:.3f}"
    return (
        f'<div class="rollout{" fooled" if is_fooled(record) else ""}"><div>{escape(record.get("question", ""))}</div>'
        f"<pre>{escape(record.get('completion', ''))}</pre>"
        f'<div class="muted">reference {escape(record.get("reference_answer", ""))} · '
        f'<span class="{verdict}">{verdict}</span> · {figures}</div></div>'
    )


def origin(run: Run) -> str:
    """Where a run comes from."""
    text = json.dumps({"config": run.config, "environment": run.environment}, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(run.arm)}: {escape(run.path.name)}</summary><pre>{escape(text)}</pre></details>"
