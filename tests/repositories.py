"""Throw-away git repositories: a template with releases, and projects made from it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copier import run_copy, run_update

from sources import CODE_ROOT, ROOT, copy_sources, matches, source_files

_SETTINGS = {"user.name": "t", "user.email": "t@example.org", "commit.gpgsign": "false"}


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints; an error of git's fails the test."""
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    command = ["git", *settings, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commit(folder: Path, message: str = "change") -> None:
    """Commit everything in a folder of a repository."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)


def start_repository(folder: Path) -> None:
    """Make a folder a repository whose first commit holds everything in it."""
    git(folder, "init", "--quiet")
    commit(folder, "first")


def release(repository: Path, tag: str) -> None:
    """Commit the state of a template and tag it."""
    commit(repository, tag)
    git(repository, "tag", tag)


def new_template(repository: Path, tag: str) -> Path:
    """Make a repository whose only release is a sample of the working tree."""
    repository.mkdir(parents=True)
    copy_sources(repository, whole=False)
    git(repository, "init", "--quiet")
    release(repository, tag)
    return repository


def template_with(folder: Path, choices: Mapping[str, tuple[str, ...]]) -> Path:
    """Make a template with two releases: a sample, and that with all files of some choices."""
    new_template(folder, "v1.0.0")
    for name in source_files():
        if CODE_ROOT in name and any(matches(name, patterns) for patterns in choices.values()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    release(folder, "v1.1.0")
    return folder


def copy(repository: Path, project: Path, tag: str | None = None, **answers: Any) -> None:
    """Copy a release, by default the newest, into a folder."""
    run_copy(
        str(repository),
        project,
        data=answers,
        vcs_ref=tag,
        defaults=True,
        overwrite=True,
        quiet=True,
        skip_tasks=True,
    )


def generate(repository: Path, project: Path, tag: str, **answers: Any) -> Path:
    """Make a project from a release and commit it."""
    copy(repository, project, tag, **answers)
    start_repository(project)
    return project


def update(project: Path, **answers: Any) -> None:
    """Bring a project to the newest release."""
    run_update(
        project,
        data=answers,
        defaults=True,
        overwrite=True,
        quiet=True,
        unsafe=True,
        skip_tasks=True,
    )


def changes(project: Path) -> list[str]:
    """Return the lines of `git status`, every untracked file one."""
    return git(project, "status", "--porcelain", "--untracked-files=all").splitlines()


def contents(project: Path) -> dict[str, bytes]:
    """Return every file of a project with its bytes, except git's own."""
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(project).parts
    }


def snapshot(project: Path) -> dict[str, tuple[int, object]]:
    """Return all that a copy could change, except git's own: mode, and bytes or where a link leads.

    Folders count as well; what lies behind a link is seen where it really is.
    """
    return {
        path.relative_to(project).as_posix(): (path.lstat().st_mode, _held_by(path))
        for path in project.rglob("*")
        if ".git" not in path.relative_to(project).parts[:-1] and path.name != ".git"
    }


def _held_by(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return path.read_bytes() if path.is_file() else None
