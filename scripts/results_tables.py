"""The tables of docs/results.md from the run folders of `cooper compare`.

python scripts/results_tables.py runs/seeds
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from cooper_rl.monitor.runs import find_runs, read_run
from cooper_rl.monitor.summary import run_table, summarize, table

STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}  # two-sided, n runs


def markdown(rows: list[list[str]]) -> str:
    """Header and rows as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def bars(arms: dict[str, list[dict[str, Any]]], bases: dict[int, float]) -> list[list[str]]:
    """Each run against what the default has to show."""
    rules = {entry["seed"]: entry["true_accuracy"]["end"] for entry in arms.get("rule", [])}
    rows = [["arm", "seed", "base", "against the bar", "met"]]
    for entry in arms.get("static", []):
        rise = entry["reward"]["end"] - entry["reward"]["start"]
        fall = entry["true_accuracy"]["end"] - entry["true_accuracy"]["peak"]
        text = f"reward {rise:+.3f} (bar +0.3); true accuracy {fall:+.3f} from its own peak (bar -0.10)"
        met = rise >= 0.3 and fall <= -0.1
        rows.append(["static", str(entry["seed"]), f"{bases[entry['seed']]:.3f}", text, "yes" if met else "no"])
    for entry in arms.get("cooper", []):
        seed, end = entry["seed"], entry["true_accuracy"]["end"]
        gain, ahead = end - bases[seed], end - rules.get(seed, math.nan)
        dip = entry["reward_model_accuracy"]["min"] - entry["reward_model_accuracy"]["start"]
        text = (
            f"true accuracy {gain:+.3f} from the base (bar +0.05), {ahead:+.3f} from rule (bar 0); "
            f"RM at its lowest {dip:+.3f} (bar -0.01)"
        )
        met = gain >= 0.05 and ahead >= 0 and dip >= -0.01
        rows.append(["cooper", str(seed), f"{bases[seed]:.3f}", text, "yes" if met else "no"])
    return rows


def difference(arms: dict[str, list[dict[str, Any]]]) -> str:
    """cooper - rule at the end, over seeds, with its 95 % interval (Student's t)."""
    rules = {entry["seed"]: entry["true_accuracy"]["end"] for entry in arms.get("rule", [])}
    found = [e["true_accuracy"]["end"] - rules[e["seed"]] for e in arms.get("cooper", []) if e["seed"] in rules]
    if len(found) not in STUDENT_95:
        return "cooper - rule: too few seeds for an interval."
    half = STUDENT_95[len(found)] * stdev(found) / math.sqrt(len(found))
    return f"cooper - rule, true accuracy at the end: {fmean(found):+.3f} ± {half:.3f} (95 %, {len(found)} seeds)."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    runs = [read_run(path) for path in find_runs(parser.parse_args().folders)]
    summary = summarize(runs)
    bases = {run.seed: value for run in runs for step, value in run.series("eval/true_accuracy") if step == 0}
    commits = sorted({str(run.environment.get("commit", "?"))[:7] for run in runs})
    parts = [markdown(table(summary)), markdown(run_table(summary)), markdown(bars(summary["arms"], bases))]
    print("\n\n".join([*parts, difference(summary["arms"]), f"Commits: {', '.join(commits)}."]))


if __name__ == "__main__":
    main()
