"""Tables on stdout, as wide as the terminal; nothing in a cell is taken for markup."""

from __future__ import annotations

import sys
from collections.abc import Collection

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .terminal import colour, plain

PIPED_WIDTH = 10_000  # a program reads it: cut nothing


def console() -> Console:
    """Return a console that prints text as it is."""
    columns = None if sys.stdout.isatty() else PIPED_WIDTH
    no_colour = colour() is False
    return Console(width=columns, markup=False, emoji=False, highlight=False, no_color=no_colour)


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
