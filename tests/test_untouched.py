"""Nothing in an existing project changes, not a byte, mode or link, however it is copied into."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from copier import run_copy

from conftest import Render
from repositories import changes, commit, git, snapshot, start_repository
from test_existing import PROJECTS, PYPROJECT, write
from test_names import answers_of

COMMAND = [sys.executable, "-m", "copier", "copy"]
# How a copy can be started: options of Copier's.
WAYS = {
    "defaults": ["-T", "--defaults"],
    "overwrite": ["-T", "--defaults", "--overwrite"],
    "with the hook": ["--trust", "--defaults", "--overwrite"],
    "strict": ["--trust", "--defaults", "--no-cleanup"],
}


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """A project with all that is easily broken: see the comments."""
    library, project = tmp_path / "library", tmp_path / "project"
    write(library, {"library/__init__.py": ""})
    start_repository(library)
    write(project, PROJECTS["full"][0])
    write(
        project, {"poetry.lock": "", "windows.txt": "a\r\nb\r\n", "notes.rej": "a name of git's\n"}
    )
    write(project, {"run.sh": "#!/bin/sh\n", "locked.py": "LOCKED = True\n", "folder/x.txt": "x"})
    (project / "pyproject.toml").write_bytes(PYPROJECT.replace("\n", "\r\n").encode())
    (project / "run.sh").chmod(0o755)
    (project / "locked.py").chmod(0o444)
    # A link to a file, to a folder, to the package, to nothing, and out of the project.
    for name, target in {
        "LICENSE.txt": "README.md",
        "linked": "folder",
        "aaa": "src/shop",
        "nowhere": "missing",
        "outside": "../library",
    }.items():
        (project / name).symlink_to(target)
    start_repository(project)
    allow = ("-c", "protocol.file.allow=always")
    git(project, *allow, "submodule", "--quiet", "add", str(library), "vendored")
    commit(project)
    # Not committed: an edit, a file that git does not know, one that it ignores.
    write(project, {"README.md": "edited\r\n", "scratch.py": "SCRATCH\n", ".gitignore": "*.log\n"})
    write(project, {"own.log": "ignored\n"})
    (project / "staged.py").write_text("STAGED = True\n", encoding="utf-8")
    git(project, "add", "staged.py")
    return project


def assert_untouched(before: dict[str, tuple[int, object]], project: Path, kit: str) -> None:
    after = snapshot(project)
    assert {name: after.get(name) for name in before} == before
    known = {kit, ".copier-answers.yml", "agentkit-requirements.txt", ".agentkit"}
    new = after.keys() - before.keys()
    assert not [
        name for name in new if name not in known and not name.startswith((kit + "/", ".agentkit/"))
    ]
    assert kit in new


@pytest.mark.parametrize("way", WAYS)
def test_a_hard_project_is_untouched(sample_template: Path, hard: Path, way: str) -> None:
    """Line ends, modes, links, a submodule, the index and a dirty tree stay, without a terminal."""
    before, status = snapshot(hard), changes(hard)
    done = subprocess.run(
        [*COMMAND, *WAYS[way], str(sample_template), str(hard)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "AGENTKIT_SKIP_TESTS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert_untouched(before, hard, "src/shop/agentkit")
    assert [line for line in changes(hard) if not line.startswith("?? ")] == [
        line for line in status if not line.startswith("?? ")
    ]


def test_copying_twice_leaves_a_hard_project_untouched(sample_template: Path, hard: Path) -> None:
    """Also the copy over an earlier one, with --overwrite, changes only what is the template's."""
    before = snapshot(hard)
    for _ in range(2):
        run_copy(
            str(sample_template), hard, defaults=True, overwrite=True, quiet=True, skip_tasks=True
        )
    assert_untouched(before, hard, "src/shop/agentkit")


def test_a_project_without_a_terminal_needs_no_answers(render: Render, hard: Path) -> None:
    """What Copier would ask has a default: manager and package are found."""
    answers = answers_of(render("project"))
    assert (answers["package_manager"], answers["code_root"]) == ("poetry", "src/shop")


def link_package(project: Path) -> None:
    write(project, {"lib/shop/__init__.py": "MINE = 1\n"})
    (project / "src").mkdir()
    (project / "src" / "shop").symlink_to("../lib/shop")


def link_parent(project: Path) -> None:
    write(project, {"lib/shop/__init__.py": "MINE = 1\n"})
    (project / "src").symlink_to("lib")


@pytest.mark.parametrize("link", [link_package, link_parent])
def test_a_package_behind_a_link_is_not_used(
    render: Render, tmp_path: Path, link: Callable[[Path], None]
) -> None:
    """git has no files behind a link, so an update would lose edits there: one line says so."""
    project = tmp_path / "project"
    write(project, {"pyproject.toml": PYPROJECT})
    link(project)
    before = snapshot(project)
    with pytest.raises(
        ValueError, match="src/shop is a symbolic link or lies below one"
    ) as refusal:
        render("project", code_root="src/shop")
    assert "\n" not in str(refusal.value)
    assert snapshot(project) == before


def test_the_real_folder_behind_a_link_can_be_named(render: Render, tmp_path: Path) -> None:
    """The line that refuses the link says what to do, and that works."""
    project = tmp_path / "project"
    write(project, {"pyproject.toml": PYPROJECT})
    link_package(project)
    before = snapshot(project)
    render("project", code_root="lib/shop")
    assert_untouched(before, project, "lib/shop/agentkit")


def test_a_project_that_is_reached_through_a_link_is_no_link(
    render: Render, tmp_path: Path
) -> None:
    """Only links inside the project matter."""
    write(tmp_path / "real", {"pyproject.toml": PYPROJECT, "shop/__init__.py": ""})
    (tmp_path / "project").symlink_to("real")
    assert answers_of(render("project"))["code_root"] == "shop"
