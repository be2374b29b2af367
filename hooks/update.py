"""What an update did to the project, so that no edit is lost without a word."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import environment
import repository
from project import REQUIREMENTS, Project

# What is not committed is gone afterwards as well: Copier updates a clean tree only.
UNDO = "git reset -q -- . && git checkout -q -- . && git clean -fdq ."
_ANSWERS = ".copier-answers.yml"
_ROOT = "template/"
_CODE_ROOT = "{{ code_root }}"
# Beside agentkit the only files that an update still renders; all others are the user's.
_OWNED = ("pyproject.toml", REQUIREMENTS)
_MARK = b"<<<<<<< before updating"
_RENDER_TIMEOUT = 120.0
_SHOWN = 20


@dataclass(frozen=True)
class Trees:
    """Blob ids by project path: the template before and after, the project before the update."""

    old: dict[str, str]
    new: dict[str, str]
    head: dict[str, str]

    def edited(self, path: str) -> bool:
        """Tell whether the user had changed a file that Copier copies byte for byte."""
        return path in self.head and path in self.old and self.head[path] != self.old[path]

    def changed(self, path: str) -> bool:
        """Tell whether the new version of the template has another text for a file."""
        return path in self.new and self.new[path] != self.old.get(path)


@dataclass(frozen=True)
class Lost:
    """Paths that the project does not have: deleted with the user's edits, or not brought."""

    edits: list[str]
    missed: list[str]


def recognise_recopy(project: Project) -> Project:
    """Copier calls a recopy a copy; over a committed answers file it is none."""
    head = repository.blobs(project.folder, "HEAD", _ANSWERS)
    return replace(project, operation="recopy") if head and project.operation == "copy" else project


def describe_recopy(project: Project) -> list[str]:
    """Say which committed files a recopy has written over."""
    changed = repository.paths(
        project.folder, "diff", "--name-only", "--diff-filter=M", "--relative", "-z", "HEAD"
    )
    written = {path for path in changed if _is_owned(path, project)}
    title = "WRITTEN OVER, also where you had edited it (see git diff HEAD):"
    return listing(title, written, shown=len(written))


def find_conflicts(project: Project) -> list[str]:
    """Return files with conflict markers and the .rej files of `--conflict rej`."""
    unmerged = repository.paths(
        project.folder, "diff", "--name-only", "--diff-filter=U", "--relative", "-z"
    )
    new = repository.paths(project.folder, "ls-files", "-z", "--others", "--exclude-standard")
    # What move.py could not merge is new to git, which therefore knows of no conflict.
    ours = [path for path in new if path.startswith(project.package + "/")]
    marked = {path for path in ours if _MARK in (project.folder / path).read_bytes()}
    return sorted({*unmerged, *marked, *(path for path in new if path.endswith(".rej"))})


def read_trees(project: Project, template: Path) -> Trees | None:
    """Read both versions of the template and the project's last commit; None if one is unknown."""
    old = repository.blobs(template, os.environ.get("VERSION_FROM", ""), _ROOT)
    # Copier has checked the new version out there.
    new = repository.blobs(template, "HEAD", _ROOT)
    head = repository.blobs(project.folder, "HEAD", ".")
    if old is None or new is None or head is None:
        return None
    return Trees(_in_project(old, project), _in_project(new, project), head)


def describe_merge(project: Project, trees: Trees, conflicts: list[str]) -> list[str]:
    """Say which files the update changed, and in which of them it kept the user's edits."""
    touched = repository.paths(project.folder, "diff", "--name-only", "--relative", "-z", "HEAD")
    touched += repository.paths(project.folder, "ls-files", "-z", "--others", "--exclude-standard")
    clean = set(touched) - {*conflicts, _ANSWERS}
    edited = {path for path in clean if trees.edited(path)}
    merged = {path for path in edited if (project.folder / path).exists()}
    moves = moved(project)
    changed = clean - edited - {*moves.values()}
    there = {path for path in changed if (project.folder / path).exists()}
    return [
        *listing("Changed by the update:", there),
        *listing("Taken away, not edited by you (switched off, or dropped):", changed - there),
        *listing("Merged with your edits:", merged),
        *listing("Moved, with your edits:", (f"{old} -> {new}" for old, new in moves.items())),
    ]


def moved(project: Project) -> dict[str, str]:
    """Map old names to new ones, as move.py has told git."""
    options = ("--cached", "--name-status", "--find-renames=1%", "--diff-filter=R", "--relative")
    found = repository.paths(project.folder, "diff", *options, "-z", "HEAD")
    return dict(zip(found[1::3], found[2::3], strict=True))


def find_lost(project: Project, trees: Trees, template: Path) -> Lost:
    """Compare what should be there with what is there."""
    gone = {path for path in {*trees.old, *trees.new} if not (project.folder / path).exists()}
    gone -= {*moved(project)}
    edits = {path for path in gone if trees.edited(path)}
    missed = {path for path in gone - edits if path in trees.old and trees.changed(path)}
    if missed and (rendered := render(template, project)) is not None:
        # What Copier would not write for these answers is switched off, not missing.
        missed &= rendered
    return Lost(sorted(edits), sorted(missed))


def render(template: Path, project: Project) -> set[str] | None:
    """Return the files of a fresh project with the same answers; None when that fails."""
    answers = project.folder / _ANSWERS
    with tempfile.TemporaryDirectory(prefix="agentkit-", ignore_cleanup_errors=True) as folder:
        target = Path(folder) / "fresh"
        command = [sys.executable, "-m", "copier", "copy", "-T", "-q", "--defaults"]
        command += ["-r", "HEAD", "--data-file", str(answers), str(template), str(target)]
        try:
            subprocess.run(
                command,
                cwd=folder,
                env=environment.for_git(os.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_RENDER_TIMEOUT,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return {path.relative_to(target).as_posix() for path in target.rglob("*")}


def describe_lost(lost: Lost) -> list[str]:
    """Say what is gone and how to get it back, however much it is: nothing else names it."""
    lines = listing(
        "REMOVED although you had edited it (switched off, or gone from the template):",
        lost.edits,
        shown=len(lost.edits),
    )
    lines += [f"    your version: git show HEAD:./{path}" for path in lost.edits]
    return lines + listing(
        "CHANGED in the template, but your project has no such file (deleted or renamed by you):",
        lost.missed,
        shown=len(lost.missed),
    )


def describe_imports(broken: list[str]) -> list[str]:
    """Name the lines that import what is gone."""
    return listing(
        "IMPORTED, but no longer there: take these lines out, or the project does not start:",
        broken,
        shown=len(broken),
    )


def listing(title: str, found: Iterable[str], *, shown: int = _SHOWN) -> list[str]:
    """Return a title and indented paths, or nothing when there are none."""
    all_paths = sorted(found)
    rest = len(all_paths) - shown
    more = [f"    and {rest} more, see: git status"] if rest > 0 else []
    return [title, *(f"    {path}" for path in all_paths[:shown]), *more] if all_paths else []


def _in_project(tree: dict[str, str], project: Project) -> dict[str, str]:
    """Translate template paths to project paths; keep what an update may change."""
    found = {}
    for path, blob in tree.items():
        target = (
            path.removeprefix(_ROOT)
            .removesuffix(".jinja")
            .replace(_CODE_ROOT + "/", _prefix(project))
        )
        if _is_owned(target, project):
            found[target] = blob
    return found


def _is_owned(path: str, project: Project) -> bool:
    return path.startswith(project.package + "/") or path in _OWNED


def _prefix(project: Project) -> str:
    return "" if project.code_root == "." else project.code_root.rstrip("/") + "/"
