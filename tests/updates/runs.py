"""One column of the matrix: a project with many edits, updated, and every edit looked at."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from repositories import changes, contents, copy, git
from sources import REQUIREMENTS

from .edits import CALM, ROUGH, Edit, append
from .outcomes import Done, silent_losses
from .places import KIT, NEW, Change, Place, commit_edits, make_place

NOTHING_LOST = "all of them: nothing lost without a word"
EVERY_FILE = "a line added to every other file"
UNTOUCHED = "nothing edited"
TESTED = "without conflicts: the tests run"
COMMAND = "with conflicts: what to run after solving"
UNDONE = "the undo line comes first and undoes"
Column = dict[str, list[str]]


def stand_ins() -> dict[str, str]:
    """Return what the template needs to hold for the edits."""
    return {edit.name: edit.stand_in for edit in (*CALM, *ROUGH) if edit.stand_in}


def run(template: Path, folder: Path, change: Change) -> Column:
    """Return the problems of each row that applies; an empty list is a good outcome."""
    column = _untouched(make_place(template, folder / "untouched", change))
    calm = make_place(template, folder / "calm", change)
    column |= _edited(calm, CALM, every_file=True)
    rough = make_place(template, folder / "rough", change)
    found = _edited(rough, ROUGH, every_file=False)
    column[NOTHING_LOST] += found.pop(NOTHING_LOST)
    return column | found


def _untouched(place: Place) -> Column:
    """An untouched project becomes like a fresh one, but for what is the user's."""
    before = contents(place.project)
    place.update()
    folder = place.project.parent / "fresh" / "my-agent"
    copy(place.template, folder, NEW, **place.change.after, brings_packaging=place.change.foreign)
    mine, fresh = contents(place.project), contents(folder)
    shared = () if place.change.foreign else ("pyproject.toml",)
    expected = {
        name: (fresh if name.startswith(KIT) or name in (*shared, REQUIREMENTS) else before).get(
            name
        )
        for name in (mine.keys() | fresh.keys()) - {".copier-answers.yml"}
        if not name.startswith(".agentkit/")
    }
    wrong = [name for name, content in expected.items() if mine.get(name) != content]
    return {UNTOUCHED: [f"{name} differs" for name in sorted(wrong)]}


def _edited(place: Place, edits: Sequence[Edit], *, every_file: bool) -> Column:
    chosen = [edit for edit in edits if edit.applies(place)]
    marks = {f"MINE_{number}": edit.target(place) for number, edit in enumerate(chosen)}
    for edit, (mark, path) in zip(chosen, marks.items(), strict=True):
        edit.do(place, path, mark)
    others = _edit_all_others(place, set(marks.values())) if every_file else {}
    commit_edits(place)
    done = Done(place, place.update())
    column = {
        edit.title: edit.check(done, path, mark)
        for edit, (mark, path) in zip(chosen, marks.items(), strict=True)
    }
    if every_file:
        column[EVERY_FILE] = [
            f"{p} lost the edit" for m, p in others.items() if not _safe(done, p, m)
        ]
    written = {m: p for m, p in {**marks, **others}.items() if m in _committed(place, p)}
    column[NOTHING_LOST] = silent_losses(done, written)
    return column | (_after_calm(done) if every_file else _after_rough(done))


def _edit_all_others(place: Place, taken: set[str]) -> dict[str, str]:
    """Add a line to every file of agentkit that no other edit is about."""
    names = [path for path in sorted((place.project / KIT).rglob("*.py")) if path.is_file()]
    paths = [path.relative_to(place.project).as_posix() for path in names]
    stand_in = {f"{KIT}/{name}" for name in stand_ins()}
    marks = {f"ALSO_{n}": p for n, p in enumerate(paths) if p not in taken | stand_in}
    for mark, path in marks.items():
        append(place, path, mark)
    return marks


def _safe(done: Done, path: str, mark: str) -> bool:
    return mark in (done.text(path) or "") or f"    {path}\n" in done.output


def _committed(place: Place, path: str) -> str:
    return git(place.project, "log", "-p", "-1", "--format=", "--", path)


def _after_calm(done: Done) -> Column:
    tested = "\nTested: 12 passed" in done.output and not done.conflicts()
    return {TESTED: [] if tested else [f"conflicts: {done.conflicts()}"]}


def _after_rough(done: Done) -> Column:
    command = "\nThen git add them and run the tests: " in done.output
    first = done.output.splitlines()[0]
    title, _, line = first.partition(": ")
    subprocess.run(line, shell=True, cwd=done.place.project, check=True)
    undone = title == "To undo this update" and changes(done.place.project) == []
    return {COMMAND: [] if command else ["no command"], UNDONE: [] if undone else [first]}
