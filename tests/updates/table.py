"""The matrix in Markdown: edits by update."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sources import ROOT

from .edits import CALM, ROUGH
from .places import changes_of_answers, make_template
from .releases import find_releases
from .runs import (
    COMMAND,
    EVERY_FILE,
    NOTHING_LOST,
    TESTED,
    UNDONE,
    UNTOUCHED,
    Column,
    run,
    stand_ins,
)

GOOD = "✓"
PAGE = ROOT / "docs" / "updates.md"
ROWS: dict[str, str] = {
    UNTOUCHED: "like a fresh project",
    **{edit.title: edit.outcome for edit in (*CALM, *ROUGH)},
    EVERY_FILE: "kept, or named",
    NOTHING_LOST: "",
    TESTED: "",
    COMMAND: "",
    UNDONE: "",
}


def columns() -> dict[str, Column]:
    """Update from every release, and from a made-up older one, with every change of answers."""
    bases = {"": None, **{f"{found.version}: ": found.commit for found in find_releases(ROOT)}}
    found: dict[str, Column] = {}
    with tempfile.TemporaryDirectory(prefix="updates-") as folder:
        for version, commit in bases.items():
            template = make_template(Path(folder, version or "old"), stand_ins(), base=commit)
            for number, change in enumerate(changes_of_answers()):
                place = Path(folder, f"{version}{number}")
                found[version + change.name] = run(template, place, change)
    return found


def table(found: dict[str, Column]) -> str:
    """Return the matrix: a check mark, problems, or nothing where the row does not apply."""
    rows = [
        [title, outcome, *(_cell(column, title) for column in found.values())]
        for title, outcome in ROWS.items()
    ]
    return _markdown(["edit", "outcome", *found], rows)


def page_rows(text: str) -> list[tuple[str, str]]:
    """Return edit and outcome of each good row between the page's marks."""
    part = text.split("<!-- updates: begin -->\n")[1].split("\n<!-- updates: end -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines()[2:]]
    return [(title, outcome) for title, outcome, *cells in rows if {*cells} <= {GOOD, ""}]


def is_good(found: dict[str, Column]) -> bool:
    """Tell whether there is no problem in any cell."""
    return not any(problems for column in found.values() for problems in column.values())


def _cell(column: Column, title: str) -> str:
    if title not in column:
        return ""
    return "; ".join(column[title]).replace("|", "\\|") or GOOD


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
