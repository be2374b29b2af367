"""The releases that a project may come from, found by the changelog, with or without tags."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# A release has its date in the heading; the one in the making has none. See AGENTS.md.
_HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", re.MULTILINE)


class ReleaseNotFound(Exception):
    """A release of the changelog is not in this clone; the text says what to do."""


@dataclass(frozen=True)
class Release:
    """A version, and the commit that it was released from."""

    version: str
    commit: str


def find_releases(repository: Path) -> list[Release]:
    """Return what CHANGELOG.md calls a release, oldest first.

    The commit is the tag's, else the first one whose changelog has the heading.
    ReleaseNotFound in a clone that does not reach back that far.
    """
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    found = [_find(repository, match[1], match[0]) for match in _HEADING.finditer(text)]
    return found[::-1]


def _find(repository: Path, version: str, heading: str) -> Release:
    commit = _git(repository, "rev-parse", "--quiet", "--verify", f"v{version}^{{commit}}")
    if commit:
        return Release(version, commit)
    search = ("log", "--reverse", "--format=%H", f"-S{heading}", "--", "CHANGELOG.md")
    commits = _git(repository, *search).split()
    # The first commit of a shallow clone seems to add everything.
    if commits and not _is_cut_off(repository, commits[0]):
        return Release(version, commits[0])
    if _git(repository, "rev-parse", "--is-shallow-repository") == "true":
        raise ReleaseNotFound(
            f"Release {version} is not in this shallow clone: git fetch --unshallow --tags"
        )
    raise ReleaseNotFound(
        f"Release {version} of CHANGELOG.md has no tag and no commit here: git fetch --tags"
    )


def _is_cut_off(repository: Path, commit: str) -> bool:
    shallow = repository / _git(repository, "rev-parse", "--git-path", "shallow")
    return shallow.is_file() and commit in shallow.read_text(encoding="utf-8").split()


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=repository, capture_output=True, encoding="utf-8")
    return done.stdout.strip()
