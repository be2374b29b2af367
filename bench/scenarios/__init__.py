"""The scenarios, one module each: what is measured and the row it makes in its table.

In-process scenarios have `measure(module, settings)` and run in the adapter's own environment;
scenarios of whole processes have `measure(info, settings, scratch)` and run in the driver; so does
that of servers, whose `measure(infos, settings, scratch)` lets them take turns.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from ..adapter import Json

IN_PROCESS = {
    "B": "one_turn",
    "C": "tool_calls",
    "D": "concurrency",
    "E": "streaming",
    "F": "conversation",
    "G": "trimming",
    "I": "growing_compaction",
    "J": "sessions",
    "S": "typed_output",
    "R": "faults",
}
PROCESSES = {"A": "start", "H": "cli_start", "K": "generation"}
SERVERS = {"L": "serving"}
ORDER = "ABCDEFGSRHIJKL"

Cell = str | float | int | None


class Scenario(Protocol):
    """What the report needs of a scenario's module."""

    TITLE: str
    COLUMNS: list[str]
    rows: Callable[[Json], list[list[Cell]]]


def load(letter: str) -> Scenario:
    """Import the module of a scenario; only its letter is known to the command line."""
    module: Scenario = import_module(f".{(IN_PROCESS | PROCESSES | SERVERS)[letter]}", __package__)
    return module


class Skipped(Exception):
    """The runtime cannot do what the scenario measures."""


def ratio(values: Json) -> str:
    """Format a ratio as its median with minimum and maximum."""
    return f"{values['median']:.2f} ({values['min']:.2f} to {values['max']:.2f})"
