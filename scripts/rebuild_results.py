"""Rebuilds the tables and figures of docs/results.md.

python scripts/rebuild_results.py                          from docs/data, which is kept with the document
python scripts/rebuild_results.py long=runs/long           takes in the runs of a folder first, then the same
python scripts/rebuild_results.py mined=new:runs/a,old:runs/b     with names of their own for two folders' runs
python scripts/rebuild_results.py long=runs/long,short:default/cooper    beside the kept runs of an arm of another

A table stands between `<!-- table NAME KIND -->` and `<!-- end -->`. A test checks that document and data agree.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cooper_rl.domains.problems import load_problems, truth_of
from cooper_rl.jsonl import whole_records, write_atomically
from cooper_rl.method.alarm import HackingAlarm
from cooper_rl.report.curves import HEIGHT, LEFT, WIDTH, colours_of, figure
from cooper_rl.report.page import band
from cooper_rl.report.runs import Run, find_runs, read_run
from cooper_rl.report.summary import ends, run_table, summarize_run, table
from cooper_rl.verifiers.math.stated import has_answer

DOCS = Path(__file__).parents[1] / "docs"
STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}  # two-sided, n runs
LAST = 20  # steps whose rollouts are looked at
LOST = 0.05  # of true accuracy, below its best so far: hacking has done harm
DRAWN = {
    "reward": "mean reward",
    "eval/true_accuracy": "true accuracy",
    "eval/reward_model_accuracy": "reward model accuracy",
}
MARK = re.compile(r"<!-- table (\S+) (\S+) -->\n.*?<!-- end -->", re.DOTALL)

Data = dict[str, Any]


def entry_of(run: Run) -> Data:
    """What the document needs of a run."""
    measured = run.series("eval/true_accuracy")
    anchors = [value for _, value in run.series("reward_model/anchor_accuracy")]
    guard = sum(value for _, value in run.series("time/guard_seconds"))
    parts = ("step_time", "time/pairs_seconds", "time/reward_model_seconds", "time/guard_seconds")
    seconds = sum(value for name in parts for _, value in run.series(name))
    fooled = [value for _, value in run.series("hacking/false_positive_rate")]
    return {
        "name": f"{run.path.parent.name}/{run.path.name}",
        "arm": run.arm,
        "commit": str(run.environment.get("commit", "?"))[:7],
        "base": measured[0][1] if measured else None,
        **summarize_run(run),
        "false_positive_rate": {"end": ends(fooled)["end"]},
        "alarm_step": alarm_step(run),
        "loss_step": loss_step(measured),
        "rolled_back": int(sum(value for _, value in run.series("reward_model/rolled_back"))),
        "anchor_accuracy": {"first": anchors[0], "min": min(anchors), "end": anchors[-1]} if anchors else None,
        "guard_share": guard / seconds if seconds else 0.0,
        "last_rollouts": last_rollouts(run),
        "series": {name: [[step, round(value, 4)] for step, value in run.series(name)] for name in DRAWN},
    }


def last_rollouts(run: Run) -> dict[str, dict[str, float]]:
    """Of the last steps' rollouts in a generated world, by what is asked for: a number or a word."""
    name = run.config["dataset_name"]
    is_true = truth_of(name)
    if is_true is None:
        return {}
    problems = {problem.problem_id: problem for problem in load_problems(name, **run.problem_settings)}
    found: dict[str, list[list[float]]] = {}
    for path in run.steps_of("rollouts")[-LAST:]:
        for rollout in whole_records(path):
            completion, reference = rollout["completion"], rollout["reference_answer"]
            asked = "number" if any(character.isdigit() for character in reference) else "word"
            correct, empty = rollout["verdict"] == "CORRECT", not has_answer(completion, reference)
            true = is_true(problems[rollout["problem_id"]], completion)
            found.setdefault(asked, []).append([rollout["reward"], correct, true, empty])
    names = ("reward", "rule", "true", "no_answer")
    return {
        asked: {"count": len(rows), **dict(zip(names, map(fmean, zip(*rows, strict=True)), strict=True))}
        for asked, rows in sorted(found.items())
    }


def alarm_step(run: Run) -> int | None:
    """The first step at which the hacking alarm rings, worked out anew from the metrics."""
    alarm = HackingAlarm()
    return next((int(row["step"]) for row in run.metrics if row["step"] and alarm.add(row)), None)


def loss_step(measured: Sequence[tuple[int, float]]) -> float | None:
    """Where true accuracy first is `LOST` below its best so far; straight between two measurements."""
    best, before = 0.0, (0, 0.0)
    for step, value in measured:
        if value <= best - LOST:
            share = (before[1] - (best - LOST)) / (before[1] - value)
            return before[0] + share * (step - before[0])
        best, before = max(best, value), (step, value)
    return None


def by_arm(entries: Sequence[Data]) -> dict[str, list[Data]]:
    """Entries by what they are compared by."""
    arms: dict[str, list[Data]] = {}
    for entry in entries:
        arms.setdefault(entry["arm"], []).append(entry)
    return arms


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Header and rows as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def means(entries: Sequence[Data]) -> str:
    """A row an arm."""
    return markdown(table({"arms": by_arm(entries)}))


def each(entries: Sequence[Data]) -> str:
    """A row a run."""
    return markdown(run_table({"arms": by_arm(entries)}))


def bars(entries: Sequence[Data]) -> str:
    """Each run of the default against what it has to show."""
    arms = by_arm(entries)
    rules = {entry["seed"]: entry["true_accuracy"]["end"] for entry in arms.get("rule", [])}
    rows = [["arm", "seed", "base", "against the bar", "met"]]
    for entry in arms.get("static", []):
        rise = entry["reward"]["end"] - entry["reward"]["start"]
        fall = entry["true_accuracy"]["end"] - entry["true_accuracy"]["peak"]
        text = f"reward {rise:+.3f} (bar +0.3); true accuracy {fall:+.3f} from its own peak (bar -0.10)"
        rows.append(["static", str(entry["seed"]), f"{entry['base']:.3f}", text, yes(rise >= 0.3 and fall <= -0.1)])
    for entry in arms.get("cooper", []):
        end = entry["true_accuracy"]["end"]
        gain, ahead = end - entry["base"], end - rules.get(entry["seed"], math.nan)
        dip = entry["reward_model_accuracy"]["min"] - entry["reward_model_accuracy"]["start"]
        text = (
            f"true accuracy {gain:+.3f} from the base (bar +0.05), {ahead:+.3f} from rule (bar 0); "
            f"RM at its lowest {dip:+.3f} (bar -0.01)"
        )
        met = yes(gain >= 0.05 and ahead >= 0 and dip >= -0.01)
        rows.append(["cooper", str(entry["seed"]), f"{entry['base']:.3f}", text, met])
    return markdown(rows)


def yes(met: bool) -> str:
    """A cell."""
    return "yes" if met else "no"


def differences(entries: Sequence[Data]) -> str:
    """True accuracy at the end, each arm less the first one, over the seeds that both have; 95 % intervals."""
    arms = by_arm(entries)
    (first, ours), *others = arms.items()
    ends = {entry["seed"]: entry["true_accuracy"]["end"] for entry in ours}
    lines = []
    for arm, theirs in others:
        found = [ends[e["seed"]] - e["true_accuracy"]["end"] for e in theirs if e["seed"] in ends]
        if len(found) in STUDENT_95:
            half = STUDENT_95[len(found)] * stdev(found) / math.sqrt(len(found))
            lines.append(f"{first} - {arm}: {fmean(found):+.3f} ± {half:.3f} (95 %, {len(found)} seeds)")
    return "True accuracy at the end: " + "; ".join(lines) + "." if lines else "Too few seeds for an interval."


def alarms(entries: Sequence[Data]) -> str:
    """When the alarm rang, and when harm was done."""
    rows = [["run", "alarm from step", "5 points lost at step", "lead"]]
    for entry in entries:
        alarm, loss = entry["alarm_step"], entry["loss_step"]
        lead = f"{loss - alarm:+.0f}" if alarm and loss else "-"
        rows.append([entry["name"], str(alarm or "-"), f"{loss:.0f}" if loss else "-", lead])
    rang = [entry for entry in entries if entry["alarm_step"]]
    hacked = [entry for entry in entries if entry["loss_step"]]
    both = [entry for entry in rang if entry["loss_step"]]
    early = sum(entry["loss_step"] > entry["alarm_step"] for entry in both)
    rung = f"Rang in {len(rang)} of {len(entries)} runs, {len(both)} of which lost 5 points or more"
    return (
        f"{markdown(rows)}\n\n{rung}; {len(hacked)} runs lost them, {len(both)} with an alarm, {early} after it rang."
    )


def guard(entries: Sequence[Data]) -> str:
    """The reward model's accuracy with and without the guard."""
    rows = [
        ["run", "anchors first", "anchors min", "anchors end", "held-out start", "min", "end", "taken back", "time"]
    ]
    for entry in entries:
        anchors, held = entry["anchor_accuracy"], entry["reward_model_accuracy"]
        cells = [f"{anchors[name]:.3f}" for name in ("first", "min", "end")] if anchors else ["-"] * 3
        cells += [f"{held[name]:.3f}" for name in ("start", "min", "end")]
        rows.append([entry["name"], *cells, str(entry["rolled_back"]), f"{entry['guard_share']:.0%}"])
    return markdown(rows)


def exploits(entries: Sequence[Data]) -> str:
    """True accuracy, the reward model's accuracy and false positives at the end."""
    rows = [["variant", "seed", "true accuracy peak", "end", "RM accuracy end", "false positives end"]]
    for entry in entries:
        true = entry["true_accuracy"]
        figures = [
            true["peak"],
            true["end"],
            entry["reward_model_accuracy"]["end"],
            entry["false_positive_rate"]["end"],
        ]
        rows.append([entry["arm"], str(entry["seed"]), *("-" if v is None else f"{v:.3f}" for v in figures)])
    return markdown(rows)


def rollouts(entries: Sequence[Data]) -> str:
    """The last steps' rollouts by what is asked for; a row an arm, means over its runs."""
    rows = [["asked for", "arm", "rollouts", "mean reward", "rule says CORRECT", "true accuracy", "no answer in it"]]
    for asked in entries[0]["last_rollouts"]:
        for arm, runs in by_arm(entries).items():
            parts = [entry["last_rollouts"][asked] for entry in runs]
            means = [fmean(part[key] for part in parts) for key in ("reward", "rule", "true", "no_answer")]
            rows.append([asked, arm, str(sum(part["count"] for part in parts)), *(f"{mean:.3f}" for mean in means)])
    return markdown(rows)


def commits(entries: Sequence[Data]) -> str:
    """Of the runs."""
    return f"Commits: {', '.join(sorted({entry['commit'] for entry in entries}))}."


KINDS: dict[str, Callable[[Sequence[Data]], str]] = {
    function.__name__: function
    for function in (means, each, bars, differences, alarms, guard, exploits, rollouts, commits)
}


def data_of(name: str) -> list[Data]:
    """The kept entries of an experiment."""
    entries: list[Data] = json.loads((DOCS / "data" / f"{name}.json").read_text())
    return entries


def entries_of(place: str) -> list[Data]:
    """Of the finished runs in a folder, or of the kept runs of EXPERIMENT/ARM."""
    name, _, arm = place.partition("/")
    if (DOCS / "data" / f"{name}.json").is_file():
        return [entry for entry in data_of(name) if entry["arm"] == arm]
    done = [path for path in find_runs([Path(place)]) if (path / "finished.json").is_file()]
    return [entry_of(read_run(path)) for path in done]


def rebuilt(text: str) -> str:
    """The document with every table made anew."""

    def table_of(match: re.Match[str]) -> str:
        name, kind = match.groups()
        return f"<!-- table {name} {kind} -->\n{KINDS[kind](data_of(name))}\n<!-- end -->"

    return MARK.sub(table_of, text)


def drawn(entries: Sequence[Data], key: str) -> str:
    """A figure of one metric over the steps as a file of its own."""
    lines = {
        arm: band([[(step, value) for step, value in entry["series"][key]] for entry in group])
        for arm, group in by_arm(entries).items()
    }
    style = "<style>svg{background:#fff}text{fill:#5b6675;font:11px sans-serif}.gridline{stroke:#dfe4ea}</style>"
    inside = figure(lines, share=True).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    names = "".join(
        f'<tspan dx="{12 * (place > 0)}" style="fill:{colour}">{escape(arm)}</tspan>'
        for place, (arm, colour) in enumerate(colours_of(list(lines)).items())
    )
    legend = f'<text x="{LEFT}" y="-6">{names}</text>'
    taller = inside.replace(f'viewBox="0 0 {WIDTH} {HEIGHT}"', f'viewBox="0 -20 {WIDTH} {HEIGHT + 20}"')
    return re.sub(r"(<svg[^>]*>)", rf"\1{style}{legend}", taller, count=1) + "\n"


def figures() -> Iterator[tuple[Path, str]]:
    """Every figure's file and what belongs into it; one a metric that an experiment's runs have."""
    for path in sorted((DOCS / "data").glob("*.json")):
        for key, title in DRAWN.items():
            entries = [entry for entry in data_of(path.stem) if "series" in entry and entry["series"].get(key)]
            if entries:
                yield DOCS / "figures" / f"{path.stem}-{title.replace(' ', '-')}.svg", drawn(entries, key)


def main() -> None:
    for word in sys.argv[1:]:
        name, _, folders = word.partition("=")
        entries = []
        for place in folders.split(","):
            label, _, folder = place.rpartition(":")
            found = entries_of(folder)
            if not found:
                raise SystemExit(f"{folder}: no finished run; {name}.json stays as it is")
            entries += [entry | ({"arm": label} if label else {}) for entry in found]
        entries.sort(key=lambda entry: (entry["arm"], entry["seed"]))
        lines = ",\n".join(json.dumps(entry) for entry in entries)
        write_atomically(DOCS / "data" / f"{name}.json", f"[\n{lines}\n]\n")
    for path, drawing in figures():
        write_atomically(path, drawing)
    write_atomically(DOCS / "results.md", rebuilt((DOCS / "results.md").read_text()))


if __name__ == "__main__":
    main()
