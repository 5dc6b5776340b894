"""How often the hacking alarm was right, and how early, over finished runs.

python scripts/alarm_figures.py runs/seeds runs/s_static runs/s_cooper

The alarm is worked out anew from each run's metrics. True accuracy is that of the held-out problems; between two
measurements it is taken to go straight.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cooper_rl.monitor.runs import Run, find_runs, read_run
from cooper_rl.rl.audit import HackingAlarm

LOST = 0.05  # of true accuracy, below its best so far


def alarm_step(run: Run) -> int | None:
    """The first step at which the alarm rings."""
    alarm = HackingAlarm()
    return next((int(row["step"]) for row in run.metrics if row["step"] and alarm.add(row)), None)


def loss_step(run: Run) -> float | None:
    """Where true accuracy first is `LOST` below its best so far."""
    best, before = 0.0, (0, 0.0)
    for step, value in run.series("eval/true_accuracy"):
        if value <= best - LOST:
            share = (before[1] - (best - LOST)) / (before[1] - value)
            return before[0] + share * (step - before[0])
        best, before = max(best, value), (step, value)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    runs = [read_run(folder) for folder in find_runs(parser.parse_args().folders)]
    rang, hacked, both, delays = 0, 0, 0, []
    print("| run | alarm from step | 5 points lost at step | the alarm was earlier by |\n|---|---|---|---|")
    for run in runs:
        alarm, loss = alarm_step(run), loss_step(run)
        rang, hacked, both = rang + (alarm is not None), hacked + (loss is not None), both + bool(alarm and loss)
        if alarm and loss:
            delays.append(loss - alarm)
        lead = f"{loss - alarm:.0f} steps" if alarm and loss else "-"
        shown = f"{loss:.0f}" if loss else "-"
        print(f"| {run.path.parent.name}/{run.path.name} | {alarm or '-'} | {shown} | {lead} |")
    print(f"\nIt rang in {rang} of {len(runs)} runs; {hacked} lost 5 points or more, {both} of them with an alarm.")
    if delays:
        early = sum(delay > 0 for delay in delays)
        print(f"It was earlier in {early} of {len(delays)}; lead {min(delays):.0f} to {max(delays):.0f} steps.")


if __name__ == "__main__":
    main()
