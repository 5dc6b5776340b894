"""Writes one self-contained HTML file about runs: no network, escaped model text, one script (which shows rollouts)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from cooper_rl.jsonl import whole_records, write_atomically
from cooper_rl.records import THRESHOLD
from cooper_rl.report.curves import Place, figure, trajectories
from cooper_rl.report.page import (
    BANDS,
    CELLS,
    CURVES,
    HOW_TO_READ,
    SHARE,
    STYLE,
    curve,
    escape,
    html_table,
    legend,
    pair,
    plot,
    rank,
)
from cooper_rl.report.rollouts import BINS, SCRIPT_POLICY, Step, kept_files, other_blocks, read_steps, reader
from cooper_rl.report.runs import Run, label_apart, read_run
from cooper_rl.report.story import EXPLOITED, is_exploited, story
from cooper_rl.report.summary import run_table, summarize, table

SHOWN_PAIRS = 12
NEAR_STEPS = 3  # the reward at a held-out measurement is averaged over this many steps
CELL_COLOURS = dict(zip(CELLS, ("#d9572b", "#8a5fbf", "#1f8a70", "#6b7f99", "#b9a03a"), strict=True))
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src {SCRIPT_POLICY}; base-uri 'none'; form-action 'none'"
)


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Writes the report of these run folders to `out` and returns that path.

    Raises:
        MissingFileError: a folder does not exist.
        BadInputError: a folder holds no run.
    """
    runs = sorted(label_apart([read_run(folder) for folder in folders]), key=lambda r: (rank(r.arm), r.seed))
    kept = kept_files(runs)
    rollouts = [read_steps(run, kept) for run in runs]
    blocks = [held for _, held in rollouts]
    firsts = {run.arm: run for run in runs[::-1]}
    both = zip(runs, rollouts, strict=True)
    scored = [(run, steps) for run, (steps, _) in both if run.scored and firsts[run.arm] is run]
    body = [
        *overview(runs),
        *agreement(scored),
        *reader(runs, blocks),
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
    bands = BANDS if len(runs) > len(arms) else ""
    yield f'<h2>Over the steps</h2><p class="muted">{HOW_TO_READ} {bands}</p>{legend(arms)}'
    yield '<div class="grid">'
    yield from (curve(runs, arms, each) for each in CURVES)
    yield f"{reward_against_truth(runs)}</div>"


def agreement(scored: Sequence[tuple[Run, Sequence[Step]]]) -> Iterator[str]:
    """The reward model against the rule, for the first run of each arm: shares over the steps, and a table by score."""
    if not any(steps for _, steps in scored):
        return
    yield "<h2>The reward model against the rule</h2>"
    yield f'<p class="muted">A score above {THRESHOLD:g} means that the reward model finds a rollout right.</p>'
    yield legend(list(CELLS.values()), {CELLS[cell]: colour for cell, colour in CELL_COLOURS.items()})
    yield '<div class="grid">'
    yield from (cells_over_time(run, steps) for run, steps in scored)
    yield "</div>"
    yield from (calibration(run, steps) for run, steps in scored)


def alarms(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each run in which the hacking alarm fired."""
    for run in runs:
        if run.alarm_step is not None:
            link = f'<a href="#{run.address}/{run.alarm_step}/1">its rollouts of that step</a>'
            yield f'<div class="alarm">hacking alarm: {escape(run.name)}, from step {run.alarm_step}; {link}</div>'


def reward_against_truth(runs: Sequence[Run]) -> str:
    """A figure of mean reward against held-out accuracy, with one path per run. Hacking moves up and to the left."""
    paths = []
    for run in runs:
        reward = dict(run.series("reward"))
        first = min(reward, default=0)
        points = []
        for step, true in run.series("eval/true_accuracy"):
            near = [value for at, value in reward.items() if abs(at - max(step, first)) <= NEAR_STEPS]
            if near:
                points.append(Place(step, true, fmean(near)))
        paths.append((run.arm, run.name, points))
    drawn = trajectories(paths, "true accuracy", "mean reward")
    return plot("Reward against truth", "both from 0 to 1", "one path per run; a circle marks its start", drawn)


def cells_over_time(run: Run, steps: Sequence[Step]) -> str:
    """A figure of the shares of `CELLS` over the steps."""
    shares = {cell: [(step.step, step.cells[cell] / max(1, step.count)) for step in steps] for cell in CELLS}
    lines = {CELLS[cell]: [(step, share, share, share) for step, share in found] for cell, found in shares.items()}
    colours = {CELLS[cell]: colour for cell, colour in CELL_COLOURS.items()}
    return plot(run.name, SHARE, "of the step's rollouts", figure(lines, share=True, colours=colours, unit=SHARE))


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
