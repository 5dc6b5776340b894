"""Tables on stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """A table, its first row the header; wide where nobody looks at a terminal."""
    shown = Table(*rows[0])
    for row in rows[1:]:
        shown.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 200).print(shown)
