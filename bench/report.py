"""Markdown tables from the results of one run."""

import json
from pathlib import Path

from . import catalog
from .adapter import Json
from .scenarios import ORDER, Cell, Scenario, load

Results = dict[str, Json]


def report(folder: Path) -> str:
    """Return the machine, the versions and a table per scenario that was run."""
    machine = json.loads((folder / "machine.json").read_text())
    results = _read(folder)
    letters = [
        letter for letter in ORDER if any(letter in r["scenarios"] for r in results.values())
    ]
    parts = [_heading(machine, results), *(_section(letter, results) for letter in letters)]
    return "\n\n".join(parts) + "\n"


def _read(folder: Path) -> Results:
    found = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
    found.pop("machine", None)
    order = [*catalog.names(), *catalog.server_names()]
    known = [name for name in order if name in found]
    return {name: found[name] for name in [*known, *sorted(set(found) - set(known))]}


def _heading(machine: Json, results: Results) -> str:
    versions = "; ".join(
        ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        for result in results.values()
        if result["versions"]
    )
    load_before = ", ".join(f"{value:.1f}" for value in machine["load"])
    where = f"{machine['cores']} cores of {machine['cpu']}, Python {machine['python']}"
    disk = f"logs on {machine['file_system']}, load before the run {load_before}"
    return f"{machine['date']}: {where}, {machine['system']}, {disk}.\n{versions}."


def _section(letter: str, results: Results) -> str:
    scenario = load(letter)
    lines, skipped = [], []
    for result in results.values():
        measured = result["scenarios"].get(letter)
        if measured and "skipped" in measured:
            skipped.append(f"{result['title']}: {measured['skipped']}")
        elif measured:
            lines += _lines(result["title"], measured, scenario)
    notes = "; ".join(skipped)
    text = f"### {scenario.TITLE}\n\n" + "\n".join([*_head(scenario), *lines])
    return f"{text}\n\n({notes}.)" if notes else text


def _head(scenario: Scenario) -> list[str]:
    columns = ["", *scenario.COLUMNS]
    return [f"| {' | '.join(columns)} |", "|---" + "|---:" * len(scenario.COLUMNS) + "|"]


def _lines(title: str, measured: Json, scenario: Scenario) -> list[str]:
    if "error" in measured:
        return [f"| {title} | failed: {measured['error'].strip().splitlines()[-1][:120]} |"]
    values = {key: value for key, value in measured.items() if not key.startswith("_")}
    return [f"| {title} | {' | '.join(map(_cell, row))} |" for row in scenario.rows(values)]


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
        return f"{value:.{digits}f}"
    return str(value)
