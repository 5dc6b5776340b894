"""Tables on stdout, and progress on stderr where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """`12.3/s`, or nothing yet."""
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """A table, its first row the header; wide where nobody looks at a terminal."""
    shown = Table(*rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(shown)


@contextmanager
def progress_line(title: str, *, shown: bool = True) -> Iterator[Callable[..., None] | None]:
    """A progress bar on stderr with rate and time left, as the function that updates its one task (`completed`,
    `total`, `description`); None where stderr is no terminal or it should not be shown."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        yield partial(progress.update, progress.add_task(title, total=None))
