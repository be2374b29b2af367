"""The debug directory: made when its first file is written, and hidden from git from then on."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def make_directory(path: Path, debug_dir: Path) -> None:
    """Make a directory that lies in `debug_dir`, or is it. Raises `OSError`.

    A `debug_dir` that was not there gets a `.gitignore`, since the files hold conversations. One
    that was there, which may be anybody's, is left alone.
    """
    is_new = not debug_dir.exists()
    path.mkdir(parents=True, exist_ok=True)
    if is_new:
        with suppress(OSError):
            (debug_dir / ".gitignore").write_text("*\n", encoding="utf-8")
