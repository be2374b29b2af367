"""Bring the user's edits of a file of agentkit into the name that it has in the new release.

Usage: move.py OLD NEW, as paths below agentkit

An `after` migration in copier.yml runs this in the project, before post_gen.py. Copier has deleted
the file with the old name by then and written a fresh one with the new: git still has the edits.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
import repository
from project import PACKAGE

_CODE_ROOT = re.compile(r"^code_root: ['\"]?([^'\"\n]+)", re.MULTILINE)
_TEMPLATE = Path(__file__).resolve().parent.parent
_SOURCE = "template/{{ code_root }}/" + PACKAGE
# The words that Copier uses, so that the user meets one kind of conflict.
_LABELS = ("-L", "before updating", "-L", "last update", "-L", "after updating")


def move(folder: Path, old: str, new: str) -> None:
    """Merge the edits into the file with the new name; without edits there is nothing to do."""
    # Copier gives a migration no answers.
    answers = (folder / ".copier-answers.yml").read_text(encoding="utf-8")
    found = _CODE_ROOT.search(answers)
    package = (Path(found[1].strip() if found else ".") / PACKAGE).as_posix()
    mine = repository.ask(folder, "show", f"HEAD:./{package}/{old}")
    base = repository.ask(
        _TEMPLATE, "show", f"{os.environ.get('VERSION_FROM', '')}:{_SOURCE}/{old}"
    )
    own = repository.ask(folder, "show", f"HEAD:./{package}/{new}")
    target = folder / package / new
    if mine in (None, base) or base is None or own is not None or not target.is_file():
        return
    if _merge(folder, mine or "", base, target):
        # A move that git sees: post_gen.py says so, and nothing was lost.
        repository.ask(folder, "add", "--all", "--", f"{package}/{old}", f"{package}/{new}")


def _merge(folder: Path, mine: str, base: str, target: Path) -> bool:
    """Write the merged text; False when there are conflicts in it."""
    with tempfile.TemporaryDirectory(prefix="agentkit-") as scratch:
        names = [Path(scratch, name) for name in ("mine", "base", "new")]
        for path, text in zip(names, (mine, base, target.read_text(encoding="utf-8")), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(
            ["git", "merge-file", *_LABELS, *map(str, names)],
            cwd=folder,
            env=environment.for_git(os.environ),
            capture_output=True,
        )
        target.write_bytes(names[0].read_bytes())
    return done.returncode == 0


if __name__ == "__main__":
    move(Path.cwd(), *sys.argv[1:])
