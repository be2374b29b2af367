"""The commands that the hook tells the user to type, and how it follows a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hook_project import (
    HOOKS,
    commit_all,
    ends,
    environment,
    fake_tool,
    fake_uv,
    hook_command,
    make_project,
    run_hook,
    write,
)

sys.path.insert(0, str(HOOKS))

from processes import Watch, run

SKIP = {"AGENTKIT_SKIP_TESTS": "1"}
QUESTION = 'ask "hello" --model chat://offline/echo'
NEEDS = '# why\nhttpx2>=2,<3\npydantic[email]>=2.11  # values\n\ntzdata; sys_platform == "win32"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def git_only(tmp_path: Path) -> Path:
    """A PATH on which git is the only tool."""
    folder = tmp_path / "git"
    folder.mkdir()
    found = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
    (folder / "git").symlink_to(Path(found.stdout.strip()) / "git")
    return folder


def test_with_uv_the_question_is_asked_through_uv(project: Path, tmp_path: Path) -> None:
    """The console script has the project's name."""
    done = run_hook(project, fake_uv(tmp_path / "bin"), hook_command(name="my-agent"))
    assert f"\n  uv run my-agent {QUESTION}\n" in done.output
    assert f"  uv run my-agent {QUESTION}" in done.report["lines"]


def test_without_uv_the_question_is_asked_through_the_environment(
    project: Path, tmp_path: Path
) -> None:
    """The script lies in .venv, which is not activated."""
    done = run_hook(project, tmp_path, **SKIP)
    assert f"\n  .venv/bin/demo {QUESTION}\n" in done.output


def test_a_new_folder_is_made_a_repository(project: Path, git_only: Path) -> None:
    """init, add and commit are shown, and why."""
    done = run_hook(project, git_only, **SKIP)
    assert done.output.endswith('\n  git init\n  git add .\n  git commit -m "First commit"\n')
    assert "lock files included: updates need a clean, committed tree" in done.output


def test_a_folder_in_a_repository_is_only_committed(project: Path, git_only: Path) -> None:
    """Below an existing repository another one would be wrong."""
    commit_all(project.parent)
    done = run_hook(project, git_only, **SKIP)
    assert "git init" not in done.output
    assert "\n  git add .\n" in done.output


def test_without_git_the_user_is_told_to_install_it(project: Path, tmp_path: Path) -> None:
    """No git command is shown that cannot work."""
    done = run_hook(project, tmp_path, **SKIP)
    assert "Install git and commit the project: updates need" in done.output
    assert "git init" not in done.output


def test_the_first_command_goes_to_the_project(tmp_path: Path) -> None:
    """The way from the shell's folder is short and quoted."""
    project = make_project(tmp_path / "my project")
    done = run_hook(project, tmp_path, **SKIP, PWD=str(tmp_path))
    assert "\n  cd 'my project'\n" in done.output


def test_in_the_project_no_cd_is_shown(project: Path, tmp_path: Path) -> None:
    """Who is there already need not go there."""
    assert "  cd " not in run_hook(project, tmp_path, **SKIP, PWD=str(project)).output


def test_without_the_shells_folder_the_way_is_absolute(project: Path, tmp_path: Path) -> None:
    """Not every shell says where it is."""
    assert f"\n  cd {project}\n" in run_hook(project, tmp_path, **SKIP).output


@pytest.mark.parametrize(
    ("manager", "add", "prefix"),
    [
        ("uv", "uv add -r agentkit-requirements.txt", "uv run "),
        ("pip", "python -m pip install -r agentkit-requirements.txt", ""),
        (
            "poetry",
            'poetry add "httpx2>=2,<3" "pydantic[email]>=2.11" "tzdata; sys_platform == \'win32\'"',
            "poetry run ",
        ),
        (
            "pdm",
            'pdm add "httpx2>=2,<3" "pydantic[email]>=2.11" "tzdata; sys_platform == \'win32\'"',
            "pdm run ",
        ),
    ],
)
def test_an_existing_project_uses_its_own_manager(
    tmp_path: Path, manager: str, add: str, prefix: str
) -> None:
    """One command adds the packages, one asks the question, both by the user's manager."""
    project = make_project(tmp_path / "project", "src/shop")
    write(project / "agentkit-requirements.txt", NEEDS)
    command = hook_command(code_root="src/shop", kind="foreign", manager=manager)
    done = run_hook(project, tmp_path, command, **SKIP)
    assert f"\n  {add}\n  {prefix}python -m shop.agentkit {QUESTION}\n" in done.output
    assert "\n  from shop.agentkit import Agent\n" in done.output
    assert '\n  [tool.coverage.run]\n  omit = ["*/agentkit/*"]\n' in done.output


def test_the_add_command_survives_a_shell(tmp_path: Path) -> None:
    """No bracket becomes a redirection or a pattern, no requirement is split."""
    project = make_project(tmp_path / "project")
    write(project / "agentkit-requirements.txt", NEEDS)
    command = hook_command(kind="foreign", manager="poetry")
    done = run_hook(project, tmp_path, command, **SKIP)
    line = next(line for line in done.output.splitlines() if "poetry add" in line)
    tools = fake_tool(tmp_path / "bin", "poetry", "print(*args, sep='\\n')")
    typed = ["/bin/sh", "-c", line]
    env = environment(tools)
    shown = subprocess.run(typed, cwd=project, env=env, capture_output=True, text=True).stdout
    expected = ["httpx2>=2,<3", "pydantic[email]>=2.11", "tzdata; sys_platform == 'win32'"]
    assert shown.splitlines()[1:] == expected


@pytest.mark.parametrize(
    ("code_root", "name"),
    [(".", "agentkit"), ("shop", "shop.agentkit"), ("libs/shop", "libs.shop.agentkit")],
)
def test_the_import_path_follows_the_code_root(tmp_path: Path, code_root: str, name: str) -> None:
    """What the user imports depends on the folder that got agentkit."""
    project = make_project(tmp_path / "project", code_root)
    command = hook_command(code_root=code_root, kind="foreign", manager="pip")
    done = run_hook(project, tmp_path, command, **SKIP)
    assert f"\n  python -m {name} {QUESTION}\n" in done.output


def test_a_package_named_src_is_part_of_the_import_path(tmp_path: Path) -> None:
    """With an __init__.py in it, src is no search path."""
    project = make_project(tmp_path / "project", "src/shop")
    write(project / "src" / "__init__.py", "")
    command = hook_command(code_root="src/shop", kind="foreign", manager="pip")
    assert (
        "from src.shop.agentkit import Agent" in run_hook(project, tmp_path, command, **SKIP).output
    )


def test_a_silent_child_is_reported_alive(tmp_path: Path) -> None:
    """While nothing is printed, someone is told; here that is what lets the child end."""
    flag = tmp_path / "flag"
    code = f"import os, time\nwhile not os.path.exists({str(flag)!r}):\n    time.sleep(0.01)"
    seen: list[str] = []
    watch = Watch(seen.append, lambda seconds: flag.touch(), beat=0.0)
    done = run(
        [sys.executable, "-c", code], tmp_path, dict(os.environ), time.monotonic() + 60, watch
    )
    assert (done.code, seen) == (0, [])


def test_the_default_beat_is_shorter_than_five_seconds() -> None:
    """Nobody looks at a silent terminal for longer."""
    assert Watch(print, print).beat < 5


def test_what_a_child_leaves_running_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    """A server that a test forgot holds the output open; the run ends all the same."""
    code = (
        "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c',"
        " 'import time; time.sleep(60)']); print(child.pid)"
    )
    lines: list[str] = []
    watch = Watch(lines.append, lambda seconds: None)
    deadline = time.monotonic() + 30
    done = run([sys.executable, "-c", code], tmp_path, dict(os.environ), deadline, watch)
    assert done.code == 0
    assert time.monotonic() < deadline
    assert ends(int(lines[0]))


def test_progress_counts_tests(project: Path, tmp_path: Path) -> None:
    """A sign of life says how many tests of how many have run."""
    from suite import _test_progress

    progress = _test_progress()
    progress("collected 12 items")
    progress("agentkit/tests/test_a.py::test_x PASSED [  8%]")
    assert progress("agentkit/tests/test_a.py::test_y[a b] FAILED [ 16%]") == "2 of 12, "
