"""Writes one self-contained HTML file about runs: no network, escaped model text, known scripts only."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cooper_rl.jsonl import whole_records, write_atomically
from cooper_rl.records import THRESHOLD
from cooper_rl.report.curves import SHARE, charts
from cooper_rl.report.page import (
    CELLS,
    CHARTS,
    HOW_TO_READ,
    PLOTLY,
    STYLE,
    charts_frame,
    escape,
    html_table,
    pack,
    pair,
    rank,
)
from cooper_rl.report.rollouts import BINS, SCRIPT, Shelf, Step, other_blocks, read_steps, reader, select_files
from cooper_rl.report.runs import Run, label_apart, read_run
from cooper_rl.report.story import EXPLOITED, is_exploited, story
from cooper_rl.report.summary import run_table, summarize, table

SHOWN_PAIRS = 12
CELL_COLOURS = dict(zip(CELLS, ("#d9572b", "#8a5fbf", "#1f8a70", "#6b7f99", "#b9a03a"), strict=True))
SCRIPTS = (PLOTLY, CHARTS, SCRIPT)  # the page's policy names the hashes of these, so that the browser runs no other
HASHES = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" for code in SCRIPTS)
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src {HASHES}; base-uri 'none'; form-action 'none'"


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Writes the report of these run folders to `out` and returns that path.

    Raises:
        MissingFileError: a folder does not exist.
        BadInputError: a folder holds no run.
    """
    runs = sorted(label_apart([read_run(folder) for folder in folders]), key=lambda r: (rank(r.arm), r.seed))
    measured = [shelf for run in runs if (shelf := Shelf(run, "heldout")).files]
    shelves = [*map(Shelf, runs), *measured]
    kept = select_files(shelves)
    rollouts = [read_steps(shelf, kept) for shelf in shelves]
    blocks = [held for _, held in rollouts]
    sources = {source for steps, _ in rollouts for step in steps for source in step.sources}
    firsts = {run.arm: run for run in runs[::-1]}
    both = zip(runs, rollouts[: len(runs)], strict=True)
    scored = [(run, steps) for run, (steps, _) in both if run.scored and firsts[run.arm] is run]
    body = [
        *overview(runs),
        charts_frame(pack(charts(runs, [cells_over_time(run, steps) for run, steps in scored if steps]))),
        *agreement(scored),
        *reader(shelves, blocks, sources),
        *(f"<script>{code}</script>" for code in (SCRIPTS if any(blocks) else SCRIPTS[:2])),
        "<h2>Pairs that trained the reward model</h2>" if any(run.steps_of("pairs") for run, _ in scored) else "",
        *(pair_reader(run) for run, _ in scored if run.steps_of("pairs")),
        "<h2>Configuration and environment</h2>",
        differences(runs),
        *(origin(run) for run in runs if firsts[run.arm] is run),
        *other_blocks(blocks),
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width"><title>Cooper report</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )
    write_atomically(out, page)
    return out


def overview(runs: Sequence[Run]) -> Iterator[str]:
    """The story in one sentence, alarms, tables and the curves over the steps."""
    arms = list(dict.fromkeys(run.arm for run in runs))
    summary = summarize(runs)
    seeds = ", ".join(map(str, sorted({run.seed for run in runs})))
    yield "<h1>Cooper: reward against truth</h1>"
    yield f'<p class="lead">{escape(story(summary))}</p>'
    counted = f"{len(runs)} run{'s' * (len(runs) > 1)}: {', '.join(arms)}; seed{'s' * (',' in seeds)} {seeds}."
    hacked = any(is_exploited(entry) for entries in summary["arms"].values() for entry in entries)
    yield f'<p class="muted">{escape(counted)} {EXPLOITED if hacked else ""}</p>'
    yield from alarms(runs)
    yield html_table(table(summary))
    if len(runs) > len(arms):
        yield f"<details><summary>Each run</summary>{html_table(run_table(summary))}</details>"
    yield "<h2>Over the steps</h2>"
    yield f'<p class="muted">{HOW_TO_READ}</p>'


def agreement(scored: Sequence[tuple[Run, Sequence[Step]]]) -> Iterator[str]:
    """The reward model against the rule, for the first run of each arm: shares over the steps, and a table by score."""
    if not any(steps for _, steps in scored):
        return
    yield "<h2>The reward model against the rule</h2>"
    yield f'<p class="muted">A score above {THRESHOLD:g} means that the reward model finds a rollout right.</p>'
    yield '<div id="cells"></div>'
    yield from (calibration(run, steps) for run, steps in scored)


def alarms(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each run in which the hacking alarm fired."""
    for run in runs:
        if run.alarm_step is not None:
            link = f'<a href="#{run.address}/{run.alarm_step}/1">its rollouts of that step</a>'
            yield f'<div class="alarm">hacking alarm: {escape(run.name)}, from step {run.alarm_step}; {link}</div>'


def cells_over_time(run: Run, steps: Sequence[Step]) -> dict[str, Any]:
    """The figure of the shares of `CELLS` over the steps, as the charts take it."""
    places = [step.step for step in steps]
    lines = [
        {
            "name": CELLS[cell],
            "colour": colour,
            "step": places,
            "value": [round(step.cells[cell] / max(1, step.count), 6) for step in steps],
        }
        for cell, colour in CELL_COLOURS.items()
    ]
    return {"title": run.name, "unit": SHARE, "note": "of the step's rollouts", "lines": lines}


def calibration(run: Run, steps: Sequence[Step]) -> str:
    """A table by score: the share CORRECT of rollouts that the rule can judge, in the first and last tenth of steps."""
    tenth = max(1, len(steps) // 10)
    rows = [["score", *(f"{low:g} to {min(1, high):g}" for low, high in BINS)]]
    for title, part in (("first", steps[:tenth]), ("last", steps[-tenth:])):
        counts = [[sum(step.judged[place][which] for step in part) for which in (0, 1)] for place in range(len(BINS))]
        cells = [f"{right / many:.2f} of {many}" if many else "-" for many, right in counts]
        rows.append([f"{title} tenth: share correct", *cells])
    return f"<details><summary>{escape(run.name)}: is the score a probability?</summary>{html_table(rows)}</details>"


def pair_reader(run: Run) -> str:
    """Pairs of the first and the last step that has pairs, and of the last update that was rolled back."""
    parts = [f"<h3>{escape(run.name)}</h3>"]
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
    return html_table([["differs", *(run.name for run in runs)], *rows])


def origin(run: Run) -> str:
    """A run's settings and environment, folded away."""
    text = json.dumps({"config": run.config, "environment": run.environment}, indent=2, ensure_ascii=False)
    return f"<details><summary>{escape(run.arm)}: {escape(run.path.name)}</summary><pre>{escape(text)}</pre></details>"
