"""A recopy writes over edits, so it shows the way back and what it wrote over."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hook_project import HOOKS, commit_all, hook_command, make_project, run_hook, write

sys.path.insert(0, str(HOOKS))

from update import UNDO, Lost, describe_lost

ANSWERS = ".copier-answers.yml"
INIT = "src/demo/agentkit/__init__.py"
SKIP = {"AGENTKIT_SKIP_TESTS": "1"}
PATH = os.environ["PATH"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def test_a_recopy_lists_what_it_wrote_over_and_how_to_undo_it(project: Path) -> None:
    """The first line is the way back; files of the user's are none of its business."""
    write(project / ANSWERS, "code_root: src/demo\n")
    write(project / INIT, "VALUE = 'mine'\n")
    commit_all(project)
    write(project / INIT, "VALUE = 1\n")
    write(project / "src/demo/main.py", "MINE = True\n")
    done = run_hook(project, PATH, **SKIP)
    assert done.output.startswith(f"To undo this recopy: {UNDO}\n")
    title = "WRITTEN OVER, also where you had edited it (see git diff HEAD):"
    assert f"\n{title}\n    {INIT}\nNOT TESTED" in done.output
    assert "\n  git diff HEAD\nThen commit everything" in done.output


def test_a_first_copy_is_no_recopy(project: Path) -> None:
    """An answers file that was never committed was written by this copy."""
    commit_all(project)
    write(project / ANSWERS, "code_root: src/demo\n")
    done = run_hook(project, PATH, **SKIP)
    assert "undo" not in done.output
    assert '\n  git commit -m "First commit"\n' in done.output


def test_an_update_of_a_package_that_was_moved_says_what_to_do(project: Path) -> None:
    """Where there is no agentkit, the way back comes first and the answer to change is named."""
    done = run_hook(project, PATH, hook_command("update", code_root="src/old"), **SKIP)
    first, second = done.output.splitlines()
    assert first == f"To undo this update: {UNDO}"
    assert "there is no src/old/agentkit in " in second
    assert "write the new folder as code_root into .copier-answers.yml" in second
    assert done.code == 0


def test_every_lost_edit_is_named() -> None:
    """However many there are: no other line would name them."""
    paths = [f"agentkit/file_{number}.py" for number in range(300)]
    lines = describe_lost(Lost(paths, paths))
    assert [path for path in paths if lines.count(f"    {path}") != 2] == []
    assert sum(line.startswith("    your version: git show HEAD:./") for line in lines) == 300
