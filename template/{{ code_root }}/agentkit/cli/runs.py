"""`runs`: what was run, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ..observability.call_reader import read_runs
from .run_names import run_ids, short_name
from .tables import add_row, new_table, print_table
from .terminal import dollars, note

CANCELLED = "CancelledError"  # the error of a call that somebody broke off
COLUMNS = ("when", "run", "model", "steps", "tokens", "cost", "outcome")


def list_runs(debug_dir: Path, limit: int, prog: str) -> None:
    """Print a table of the newest runs."""
    runs = read_runs(debug_dir, limit)
    if not runs:
        note(f"no runs in {debug_dir}; {prog} ask and {prog} chat leave some")
        return
    known = run_ids(debug_dir)
    table = new_table(*COLUMNS, shrinks=("model", "outcome"))
    for run in runs:
        add_row(table, *_cells(run, known))
    print_table(table)


def local_time(text: object) -> str:
    """Return a UTC time in ISO form as local time, to the second."""
    try:
        return datetime.fromisoformat(str(text)).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return "?"


def run_cost(cost: object) -> str:
    """Return the cost that a log file tells, for people."""
    return dollars(float(cost)) if isinstance(cost, (int, float)) else "unknown"


def _cells(run: dict[str, Any], known: Sequence[str]) -> tuple[str, ...]:
    name = short_name(str(run["run_id"]), known)
    if "problem" in run:
        return ("?", name, "", "", "", "", f"unreadable: {run['problem']}")
    model = str(run["model"] or "?").partition("?")[0]
    numbers = (f"{run['steps']:g}", f"{run['tokens']:g}", run_cost(run["cost"]))
    outcome = str(run["outcome"])
    outcome = "cancelled" if outcome.partition(":")[0] == CANCELLED else outcome
    return (local_time(run["started"]), name, model, *numbers, outcome)
