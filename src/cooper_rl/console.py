"""Tables on stdout, and progress on stderr if it is a terminal."""

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
    """A progress column with the items per second."""

    def render(self, task: Task) -> Text:
        """`12.3/s`; empty as long as the speed is not known."""
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Prints a table. Its first row is the header. Without a terminal it is up to 200 characters wide."""
    shown = Table(*rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(shown)


@contextmanager
def progress_line(title: str, *, shown: bool = True) -> Iterator[Callable[..., None] | None]:
    """A progress bar on stderr, with its speed and the time left.

    Yields the function that updates it (arguments `completed`, `total`, `description`). Yields None if stderr is no
    terminal or `shown` is false.
    """
    if not shown or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        yield partial(progress.update, progress.add_task(title, total=None))
