"""Tables on stdout, as wide as the terminal; nothing in a cell is taken for markup."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .terminal import colour, plain, say

PIPED_WIDTH = 10_000  # a program reads it: cut nothing


def print_table(table: Table) -> None:
    """Print a table to stdout; in a pipe its lines end where their text does."""
    on_terminal, printed = sys.stdout.isatty(), io.StringIO()
    console = Console(
        file=printed,
        width=None if on_terminal else PIPED_WIDTH,
        force_terminal=on_terminal,
        no_color=colour() is False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(table)
    lines = printed.getvalue().splitlines()
    say("\n".join(lines if on_terminal else map(str.rstrip, lines)))


def new_table(*columns: str, shrinks: Collection[str]) -> Table:
    """Return a table without lines; where the terminal is too narrow, these columns are cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, no_wrap=name not in shrinks)
    return table


def add_row(table: Table, *cells: str) -> None:
    """Add a row; each cell is one line of plain text."""
    lines = (" ".join(plain(cell).split()) for cell in cells)
    table.add_row(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))
