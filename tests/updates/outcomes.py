"""What came of an update, and the outcomes that an edit can have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from repositories import git

from .places import Place

MERGED = "Merged with your edits:"
REMOVED = "REMOVED although you had edited it"
TAKEN = "Taken away, not edited by you"
MISSED = "CHANGED in the template, but your project has no such file"
IMPORTED = "IMPORTED, but no longer there"
CONFLICTS = "CONFLICTS, solve these first: "


@dataclass(frozen=True)
class Done:
    """An updated project and what was said about it."""

    place: Place
    output: str

    def section(self, title: str) -> list[str]:
        """Return the indented lines below a title."""
        lines = self.output.splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith(title)]
        found: list[str] = []
        for line in lines[starts[0] + 1 :] if starts else []:
            if not line.startswith("    "):
                break
            found.append(line.strip())
        return found

    def conflicts(self) -> list[str]:
        """Return the files that the hook says to solve."""
        for line in self.output.splitlines():
            if line.startswith(CONFLICTS):
                return line.removeprefix(CONFLICTS).split(", ")
        return []

    def text(self, path: str) -> str | None:
        """Return the text of a file in the project, line ends as they are; None without one."""
        file = self.place.project / path
        return file.read_bytes().decode() if file.is_file() else None


def kept(done: Done, path: str, mark: str) -> list[str]:
    """The user's text is there, without a conflict."""
    text = done.text(path) or ""
    problems = [] if mark in text else [f"{path} lost the edit"]
    return problems + (["a conflict"] if "<<<<<<<" in text or path in done.conflicts() else [])


def merged(done: Done, path: str, mark: str) -> list[str]:
    """Both texts are there, and the report says so."""
    problems = kept(done, path, mark)
    if "LINE_1 = 'new'" not in (done.text(path) or ""):
        problems.append("the template's change is missing")
    return problems + _named(done, MERGED, path)


def conflict(done: Done, path: str, mark: str) -> list[str]:
    """Both texts are there between marks, and the report names the file."""
    text = done.text(path) or ""
    problems = (
        [] if mark in text and "<<<<<<<" in text else [f"{path} has no conflict with the edit"]
    )
    return problems + ([] if path in done.conflicts() else [f"{path} is not named as a conflict"])


def removed(done: Done, path: str, mark: str) -> list[str]:
    """The file is gone, and the report names it and how to get the user's text back."""
    problems = _gone(done, path) + _named(done, REMOVED, path)
    back = f"your version: git show HEAD:./{path}"
    if back not in done.section(REMOVED):
        problems.append(f"no way back to {path}")
    elif mark not in git(done.place.project, "show", f"HEAD:./{path}"):
        problems.append("the way back leads elsewhere")
    return problems


def missed(done: Done, path: str, mark: str) -> list[str]:
    """The file stays away, and the report says that the template changed it."""
    return _gone(done, path) + _named(done, MISSED, path)


def absent(done: Done, path: str, mark: str) -> list[str]:
    """The file stays away, which is not worth a word."""
    return _gone(done, path) + ([f"{path} is named"] if f"    {path}\n" in done.output else [])


def dropped(done: Done, path: str, mark: str) -> list[str]:
    """The file is gone, and is listed as such, not as a lost edit."""
    problems = _gone(done, path) + _named(done, TAKEN, path)
    return problems + ([f"{path} is named"] if path in done.section(REMOVED) else [])


def named_import(done: Done, path: str, mark: str) -> list[str]:
    """The report names the lines of the file that import what is gone."""
    lines = [line for line in done.section(IMPORTED) if line.startswith(f"{path}:")]
    return [] if lines else [f"the import in {path} is not named"]


def imported(done: Done, path: str, mark: str) -> list[str]:
    """The user's file stays as it is, and its import is named."""
    return kept(done, path, mark) + named_import(done, path, mark)


def silent_losses(done: Done, marks: dict[str, str]) -> list[str]:
    """Return the edits of which neither the text nor the file's name is left: there must be none.

    `marks` maps what the user wrote to the file it was written in.
    """
    files = [path for path in done.place.project.rglob("*") if _is_text(path)]
    everything = "".join(path.read_text(encoding="utf-8") for path in files)
    return [
        path
        for mark, path in marks.items()
        if mark not in everything + done.output and path not in done.output
    ]


def _is_text(path: Path) -> bool:
    return (
        path.is_file()
        and path.suffix in (".py", ".toml", ".txt", ".md")
        and ".git" not in path.parts
    )


def _gone(done: Done, path: str) -> list[str]:
    return [] if done.text(path) is None else [f"{path} is there"]


def _named(done: Done, title: str, path: str) -> list[str]:
    return [] if path in done.section(title) else [f"{path} is not listed as {title}"]
