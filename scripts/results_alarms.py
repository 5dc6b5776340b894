"""Of every experiment of docs/data, in how many runs each of the two alarms fired."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HEADER = ("page", "by the rule, of hacked", "of others", "by asking, of hacked", "of others")


def alarms_by_page(data: Path, without: str) -> list[tuple[str, ...]]:
    """A table: of the runs that lost 5 points and of the others, in how many the alarm fired; a row for each page.

    Runs with the arm `rule` are left out. By asking is counted in those that asked under wrong references.

    Args:
        data: the folder with the records.
        without: the experiment that has no row.
    """
    pages = {path.stem: scored for path in sorted(data.glob("*.json")) if (scored := list(_scored(path)))}
    pages.pop(without, None)
    rows = [(f"[{name}]({name}.md)", *_counts(runs)) for name, runs in pages.items()]
    return [HEADER, *rows, ("all", *_counts([run for runs in pages.values() for run in runs]))]


def _scored(path: Path) -> Iterator[dict[str, Any]]:
    for run in json.loads(path.read_text()):
        if isinstance(run, dict) and "loss_step" in run and run["arm"] != "rule":
            yield run


def _counts(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    asked = [run for run in runs if "rule_alarm_step" in run]
    yield from _fired(runs, lambda run: run.get("rule_alarm_step", run["alarm_step"]))
    yield from _fired(asked, lambda run: run["alarm_step"])


def _fired(runs: Sequence[dict[str, Any]], step: Callable[[dict[str, Any]], int | None]) -> Iterator[str]:
    for hacked in (True, False):
        found = [step(run) for run in runs if bool(run["loss_step"]) is hacked]
        yield f"{sum(map(bool, found))} of {len(found)}" if found else "-"
