"""Tables on stdout, as wide as the terminal; nothing in a cell is taken for markup."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from .terminal import colour

PIPED_WIDTH = 10_000  # a program reads it: cut nothing


def console() -> Console:
    """Return a console that prints text as it is."""
    columns = None if sys.stdout.isatty() else PIPED_WIDTH
    no_colour = colour() is False
    return Console(width=columns, markup=False, emoji=False, highlight=False, no_color=no_colour)


def new_table(*columns: str) -> Table:
    """Return a table without lines; the last column gets what is left of the width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(columns[-1], no_wrap=True, overflow="ellipsis")
    return table
