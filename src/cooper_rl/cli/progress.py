"""What `cooper compare` shows while it runs: a line a run, with its reward, its true accuracy and the time left."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import fmean
from textwrap import fill
from typing import Any, Protocol

import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TaskID, TextColumn
from rich.table import Column

from cooper_rl.cli.console import WIDE

BAR = 10  # characters of a bar
AVERAGED = 5  # steps that a shown reward is the mean of
WAITING = "waiting for a free core"
REWARDS = {  # where the reward of each arm comes from
    "rule": "the rule verifier's verdict",
    "static": "a frozen reward model",
    "cooper": "a reward model that is trained along with the policy",
    "hybrid": "1 where the rule verifier says CORRECT, else a frozen reward model",
    "hybrid+cotrain": "as hybrid, with a reward model that is trained along with the policy",
    "rule+cotrain": "the rule verifier's verdict; a reward model is trained along and not used",
}


class Watched(Protocol):
    """A run that is watched."""

    @property
    def name(self) -> str: ...
    @property
    def folder(self) -> Path: ...
    def has_finished(self) -> bool: ...
    def has_failed(self) -> bool: ...


class Course:
    """A run's metrics as they are written. Only what is new in the file is read.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = time.monotonic
        self.forget()

    def forget(self) -> None:
        """Starts anew, as a resumed run does that cuts its metrics back to its checkpoint."""
        self.read, self.step, self.total = 0, -1, 0
        self.began: tuple[float, int] | None = None
        self.first_rewards: list[float] = []
        self.last_rewards: list[float] = []
        self.true: tuple[float, float] | None = None  # the first and the last measurement

    def look(self) -> bool:
        """Takes in the new whole lines; whether there were any."""
        metrics, config = self.folder / "metrics.jsonl", self.folder / "config.yaml"
        if not metrics.is_file() or not config.is_file():
            return False
        if metrics.stat().st_size < self.read:
            self.forget()
        with metrics.open("rb") as file:
            file.seek(self.read)
            new = file.read().rpartition(b"\n")[0]
        if not new:
            return False
        self.read += len(new) + 1
        self.total = self.total or int((yaml.safe_load(config.read_text()) or {}).get("max_steps", -1))
        for line in new.split(b"\n"):
            with suppress(json.JSONDecodeError):  # a line that a kill cut off
                self._take(json.loads(line))
        self.began = self.began or (self.clock(), self.step)
        return True

    def _take(self, row: dict[str, Any]) -> None:
        self.step = int(row["step"])
        if (reward := row.get("reward")) is not None:
            self.first_rewards = [*self.first_rewards, reward][:AVERAGED]
            self.last_rewards = [*self.last_rewards, reward][-AVERAGED:]
        if (true := row.get("eval/true_accuracy")) is not None:
            self.true = (self.true[0] if self.true else true, true)

    def note(self) -> str:
        """`reward 0.36 → 0.65, true accuracy 0.41 → 0.78`: from the start until now."""
        parts = []
        if self.last_rewards:
            parts.append(f"reward {fmean(self.first_rewards):.2f} → {fmean(self.last_rewards):.2f}")
        if self.true:
            parts.append(f"true accuracy {self.true[0]:.2f} → {self.true[1]:.2f}")
        return ", ".join(parts)

    def tell_left(self) -> str:
        """The time left at the speed so far, such as `1:40 left`; empty as long as the speed is not known."""
        if self.began is None or self.step <= self.began[1] or self.total <= 0:
            return ""
        seconds = (self.clock() - self.began[0]) / (self.step - self.began[1]) * (self.total - self.step)
        minutes, rest = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"


class Display:
    """Moving lines on a terminal; elsewhere a plain line after each tenth of a run. All of it goes to stderr.

    Args:
        runs: all runs, in the order in which they are shown.
        arms: the arms' names, which the first lines explain; none where variants are compared.
        console: where the lines go.
    """

    def __init__(self, runs: Sequence[Watched], arms: Sequence[str], console: Console) -> None:
        self.console, self.runs, self.arms = console, runs, arms
        self.courses = {run.name: Course(run.folder) for run in runs}
        self.tenths = {run.name: -1 for run in runs}
        self.ended: set[str] = set()
        self.tasks: dict[str, TaskID] = {}
        self.progress: Progress | None = None
        self.stack = ExitStack()

    def __enter__(self) -> Display:
        for line in explain_arms(self.arms):
            indent = " " * (10 * line.startswith(" "))
            wrapped = fill(line, self.console.width, subsequent_indent=indent) if self.console.is_terminal else line
            self.console.print(wrapped, highlight=False, markup=False, soft_wrap=True)
        if self.console.is_terminal:
            name, note = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[note]}"))
            counts = MofNCompleteColumn(table_column=Column(no_wrap=True))
            bar: list[ProgressColumn] = [BarColumn(bar_width=BAR)] if self.console.width >= WIDE else []
            self.progress = Progress(name, *bar, counts, note, console=self.console)
            self.stack.enter_context(self.progress)
            for run in self.runs:
                waiting = WAITING if self.console.width >= WIDE else WAITING.split()[0]
                state = "finished before" if run.has_finished() else waiting
                self.tasks[run.name] = self.progress.add_task(self.fit_name(run), total=None, note=state)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def show_start(self, run: Watched) -> None:
        """Says that a run has been started."""
        if self.progress:
            self.progress.update(self.tasks[run.name], note="starting")

    def show(self, run: Watched) -> None:
        """Shows how far a run is."""
        course = self.courses[run.name]
        new = course.look()
        end = "failed" if run.has_failed() else "done" if run.has_finished() else ""
        if run.name in self.ended or not (new or end):
            return
        if end:
            self.ended.add(run.name)
        note = ", ".join(filter(None, [course.note(), end or course.tell_left()]))
        total = course.total if course.total > 0 else None
        if self.progress:
            done = max(0, course.step)
            room = self.console.width - max(len(self.fit_name(each)) for each in self.runs) - 2 * len(str(total)) - 3
            shown = shorten(note, room - (BAR + 1) * (self.console.width >= WIDE))
            self.progress.update(self.tasks[run.name], total=total, completed=done, note=shown)
        elif total and (course.step * 10 // total > self.tenths[run.name] or end):
            self.tenths[run.name] = course.step * 10 // total
            line = f"{run.name}: step {course.step} of {total}, {note}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def fit_name(self, run: Watched) -> str:
        """A run's name, cut short on a narrow terminal."""
        most = self.console.width // 3
        return run.name if len(run.name) <= most else f"{run.name[: most - 1]}…"


def explain_arms(arms: Sequence[str]) -> list[str]:
    """What the arms are, one line each below a heading; nothing where no arm is known."""
    known = [arm for arm in arms if arm in REWARDS]
    if not known:
        return []
    heading = "Each arm trains the same policy on the same problems; the reward is"
    return [heading, *(f"  {arm:<7} {REWARDS[arm]}" for arm in known)]


def shorten(note: str, room: int) -> str:
    """As much of a note as fits: first the values at the start go, then the reward, then all but the state or time."""
    short = note.replace("true accuracy", "true").replace(" → ", "→")
    now = re.sub(r"[\d.]+→", "", short)
    shorter = [short, now, re.sub(r"^reward [\d.]+, ", "", now), now.rpartition(", ")[2]]
    return next((each for each in shorter if len(each) <= room), shorter[-1])
