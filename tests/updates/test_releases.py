"""Releases are found by the changelog, whether there are tags or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from repositories import commit, git, start_repository
from sources import ROOT

from .releases import Release, ReleaseNotFound, find_releases

FIRST = "# Changelog\n\n## 0.1.0 (2026-12-01)\n\nThe first.\n"
SECOND = FIRST.replace("## 0.1.0", "## 0.2.0 (2027-01-01)\n\nMore.\n\n## 0.1.0")
IN_THE_MAKING = SECOND.replace("## 0.2.0", "## 0.3.0\n\nNot yet.\n\n## 0.2.0")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two releases without tags, with commits around them, and one in the making."""
    folder = tmp_path / "template"
    folder.mkdir()
    for number, text in enumerate(["", FIRST, FIRST, SECOND, IN_THE_MAKING]):
        (folder / "CHANGELOG.md").write_text(text, encoding="utf-8")
        (folder / "number.txt").write_text(str(number), encoding="utf-8")
        if number:
            commit(folder)
        else:
            start_repository(folder)
    return folder


def test_a_release_is_the_commit_that_dated_it(repository: Path) -> None:
    """Oldest first; the version without a date is no release yet."""
    found = find_releases(repository)
    assert [release.version for release in found] == ["0.1.0", "0.2.0"]
    numbers = [git(repository, "show", f"{release.commit}:number.txt") for release in found]
    assert numbers == ["1", "3"]


def test_a_tag_counts_more(repository: Path) -> None:
    """Where a tag says which commit was released, that is it."""
    git(repository, "tag", "-a", "v0.1.0", "-m", "first", "HEAD~1")
    head = git(repository, "rev-parse", "HEAD~1").strip()
    assert find_releases(repository)[0] == Release("0.1.0", head)


def test_a_shallow_clone_says_what_to_do(repository: Path, tmp_path: Path) -> None:
    """Its first commit seems to hold all of the changelog, but is no release."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), str(clone))
    with pytest.raises(ReleaseNotFound, match="git fetch --unshallow --tags") as error:
        find_releases(clone)
    assert "\n" not in str(error.value)


def test_a_release_that_nobody_committed_says_what_to_do(repository: Path) -> None:
    """A changelog that was edited and not committed names a release that no clone has."""
    text = "## 0.4.0 (2027-02-01)\n"
    (repository / "CHANGELOG.md").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseNotFound, match=r"0\.4\.0 of CHANGELOG\.md has no tag"):
        find_releases(repository)


def test_the_command_ends_with_one_line_in_a_shallow_clone(tmp_path: Path) -> None:
    """`python -m tests.updates` shows no traceback for it."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", ROOT.as_uri(), str(clone))
    for path in (ROOT / "tests").rglob("*.py"):
        target = clone / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (clone / "CHANGELOG.md").write_text(FIRST, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.updates"], cwd=clone, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Release 0.1.0")
    assert "Traceback" not in done.stderr
