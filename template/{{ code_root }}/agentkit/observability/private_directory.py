"""Directories for what nobody means to publish: hidden from git from the moment they are made."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def make_directory(path: Path, private: Path) -> None:
    """Make a directory that lies in `private`, or is it. Raises `OSError`.

    A `private` that was not there gets a `.gitignore`, since what comes into it are conversations.
    One that was there, which may be anybody's, is left alone.
    """
    is_new = not private.exists()
    path.mkdir(parents=True, exist_ok=True)
    if is_new:
        with suppress(OSError):
            (private / ".gitignore").write_text("*\n", encoding="utf-8")
