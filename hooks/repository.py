"""The few questions that the hook asks git; without git, or outside a repository: None."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import environment

_TIMEOUT = 60.0


def ask(folder: Path, *arguments: str) -> str | None:
    """Return what `git ARGUMENTS` prints in a folder; None when it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment.for_git(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def paths(folder: Path, *arguments: str) -> list[str]:
    """Return the paths that a git command prints with -z; none when it fails."""
    return [path for path in (ask(folder, *arguments) or "").split("\0") if path]


def blobs(folder: Path, commit: str, below: str) -> dict[str, str] | None:
    """Map the files of a commit below a path (relative to the folder) to their blob ids.

    Equal ids mean equal bytes, across repositories, and no file content has to be fetched.
    """
    listing = ask(folder, "ls-tree", "-r", "-z", commit, "--", below)
    if listing is None:
        return None
    entries = [entry.partition("\t") for entry in listing.split("\0") if entry]
    return {path: meta.split()[2] for meta, _, path in entries}


def is_repository(folder: Path) -> bool:
    """Tell whether git knows the folder as part of a work tree."""
    return (ask(folder, "rev-parse", "--is-inside-work-tree") or "").strip() == "true"
