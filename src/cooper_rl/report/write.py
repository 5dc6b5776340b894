"""Writes one self-contained HTML file about runs: no network, no script, escaped model text, light and dark colours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from cooper_rl.jsonl import whole_records, write_atomically
from cooper_rl.records import THRESHOLD
from cooper_rl.report.curves import figure, trajectories
from cooper_rl.report.page import (
    CELLS,
    CURVES,
    STYLE,
    browser,
    cell_of,
    curve,
    escape,
    html_table,
    legend,
    pair,
    plot,
    rank,
)
from cooper_rl.report.runs import Run, read_run
from cooper_rl.report.summary import run_table, sentence, summarize, table

SHOWN_ROLLOUTS = 40  # rollouts shown of each of three steps
SHOWN_PAIRS = 12
NEAR_STEPS = 3  # the reward at a held-out measurement is averaged over this many steps
CELL_COLOURS = dict(zip(CELLS, ("#d9572b", "#8a5fbf", "#1f8a70", "#6b7f99", "#b9a03a"), strict=True))
BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01))


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Writes the report of these run folders to `out` and returns that path.

    Raises:
        MissingFileError: a folder does not exist.
        BadInputError: a folder holds no run.
    """
    runs = sorted((read_run(folder) for folder in folders), key=lambda r: (rank(r.arm), r.seed))
    arms = list(dict.fromkeys(run.arm for run in runs))
    firsts = [next(run for run in runs if run.arm == arm) for arm in arms]
    summary = summarize(runs)
    body = [
        "<h1>Cooper: reward against truth</h1>",
        f'<p class="muted">{len(runs)} run{"s" * (len(runs) > 1)}: {escape(", ".join(arms))}; seeds '
        f"{escape(', '.join(sorted({str(run.seed) for run in runs})))}</p>",
        f'<p class="lead">{escape(sentence(summary))}</p>',
        *alarms(runs),
        html_table(table(summary)),
        f"<details><summary>Each run</summary>{html_table(run_table(summary))}</details>",
        "<h2>Over the steps</h2>",
        legend(arms),
        '<div class="grid">',
        *(curve(runs, arms, *each) for each in CURVES),
        reward_against_truth(runs, arms),
        "</div>",
        "<h2>The reward model against the rule</h2>",
        f"<p class=\"muted\">Shares of each step's rollouts, the reward model's view at a score of {THRESHOLD:g}.</p>",
        legend([CELLS[cell] for cell in CELLS], {CELLS[cell]: colour for cell, colour in CELL_COLOURS.items()}),
        '<div class="grid">',
        *(cells_over_time(run) for run in firsts if run.scored),
        "</div>",
        *(calibration(run) for run in firsts if run.scored),
        "<h2>Rollouts to read</h2>",
        *(rollout_reader(run) for run in firsts),
        "<h2>Pairs that trained the reward model</h2>",
        *(pair_reader(run) for run in firsts if run.steps_of("pairs")),
        "<h2>Configuration and environment</h2>",
        differences(runs),
        *(origin(run) for run in firsts),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><title>Cooper report</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
    write_atomically(out, page)
    return out


def alarms(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each run in which the hacking alarm fired."""
    for run in runs:
        if run.alarm_step is not None:
            yield f'<div class="alarm">hacking alarm: {escape(run.path.name)}, from step {run.alarm_step}</div>'


def reward_against_truth(runs: Sequence[Run], arms: Sequence[str]) -> str:
    """A figure of mean reward against held-out accuracy, with one path per run. Hacking moves up and to the left."""
    paths = []
    for run in runs:
        reward = dict(run.series("reward"))
        first = min(reward, default=0)
        points = []
        for step, true in run.series("eval/true_accuracy"):
            near = [value for at, value in reward.items() if abs(at - max(step, first)) <= NEAR_STEPS]
            if near:
                points.append((true, fmean(near)))
        paths.append((run.arm, points))
    drawn = trajectories(paths, "true accuracy", "mean reward")
    return plot("Reward against truth", "one path per run; a circle marks its start", drawn)


def cells_over_time(run: Run) -> str:
    """A figure of the shares of `CELLS` over the steps."""
    lines: dict[str, list[tuple[int, float, float, float]]] = {cell: [] for cell in CELLS}
    for path in run.steps_of("rollouts"):
        records = whole_records(path)
        cells = [cell_of(record) for record in records]
        for cell in CELLS:
            share = cells.count(cell) / max(1, len(cells))
            lines[cell].append((int(path.stem.split("_")[1]), share, share, share))
    return plot(f"{run.arm}, seed {run.seed}", "", figure(lines, share=True, colours=CELL_COLOURS))


def calibration(run: Run) -> str:
    """A table by score: the share CORRECT of rollouts that the rule can judge, in the first and last tenth of steps."""
    files = run.steps_of("rollouts")
    tenth = max(1, len(files) // 10)
    rows = [["score", *(f"{low:g} to {min(1, high):g}" for low, high in BINS)]]
    for title, part in (("first", files[:tenth]), ("last", files[-tenth:])):
        records = [r for path in part for r in whole_records(path) if r.get("score") is not None]
        judged = [r for r in records if cell_of(r) != "unclear"]
        cells = []
        for low, high in BINS:
            inside = [r for r in judged if low <= r["score"] < high]
            right = sum(r["verdict"] == "CORRECT" for r in inside)
            cells.append(f"{right / len(inside):.2f} of {len(inside)}" if inside else "-")
        rows.append([f"{title} tenth: share correct", *cells])
    return (
        f"<details><summary>{escape(run.arm)}, seed {run.seed}: is the score a probability?</summary>"
        f"{html_table(rows)}</details>"
    )


def rollout_reader(run: Run) -> str:
    """Rollouts of the first, the middle and the last recorded step."""
    files = run.steps_of("rollouts")
    if not files:
        return ""
    chosen = dict.fromkeys([files[0], files[len(files) // 2], files[-1]])
    parts = [f"<h3>{escape(run.arm)}, seed {run.seed}</h3>"]
    for path in chosen:
        records = whole_records(path)
        shown = sorted(records, key=lambda r: cell_of(r) != "fooled")[:SHOWN_ROLLOUTS]
        step = records[0]["step"] if records else "?"
        shown_browser = browser(f"{run.path.name}-{step}", shown)
        parts.append(f"<details><summary>step {escape(step)}</summary>{shown_browser}</details>")
    return "".join(parts)


def pair_reader(run: Run) -> str:
    """Pairs of the first and the last step that has pairs, and of the last update that was rolled back."""
    parts = [f"<h3>{escape(run.arm)}, seed {run.seed}</h3>"]
    for kind, word in (("pairs", "step"), ("rolled_back", "rolled back at step")):
        files = [path for path in run.steps_of(kind) if path.stat().st_size]
        for path in dict.fromkeys([*files[:1], *files[-1:]] if kind == "pairs" else files[-1:]):
            shown = "".join(map(pair, whole_records(path)[:SHOWN_PAIRS]))
            parts.append(f"<details><summary>{word} {int(path.stem.split('_')[1])}</summary>{shown}</details>")
    return "".join(parts)


def differences(runs: Sequence[Run]) -> str:
    """The settings in which the runs differ."""
    if len(runs) < 2:
        return ""

    def flat(settings: Mapping[str, Any]) -> dict[str, str]:
        return {key: json.dumps(value, sort_keys=True, default=str) for key, value in settings.items()}

    configs = [flat(run.config) | {"commit": str(run.environment.get("commit"))} for run in runs]
    keys = sorted({key for config in configs for key in config} - {"output_dir"})
    rows = [[key, *(c.get(key, "-") for c in configs)] for key in keys if len({c.get(key) for c in configs}) > 1]
    if not rows:
        return '<p class="muted">The runs have the same settings.</p>'
    return html_table([["differs", *(run.path.name for run in runs)], *rows])


def origin(run: Run) -> str:
    """A run's settings and environment, folded away."""
    text = json.dumps({"config": run.config, "environment": run.environment}, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(run.arm)}: {escape(run.path.name)}</summary><pre>{escape(text)}</pre></details>"
