"""The hook and Copier's message tell the user the same: where one was skipped, the other has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from copier import run_copy, run_update

from hook_project import hook_command, run_hook
from repositories import generate, new_template, release, start_repository

PATH = os.environ["PATH"]
MANAGERS = ["uv", "poetry", "pdm", "pip"]


def existing_project(folder: Path, manager: str) -> Path:
    """Make a repository with a package in src/ and the lock file of a package manager."""
    (folder / "src" / "shop").mkdir(parents=True)
    lock = "requirements.txt" if manager == "pip" else f"{manager}.lock"
    for name in ("pyproject.toml", lock, "src/shop/__init__.py"):
        (folder / name).touch()
    start_repository(folder)
    return folder


def told_by_message(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return what the message says from the command for the tests on."""
    lines = [line.strip() for line in capfd.readouterr().err.splitlines() if line.strip()]
    lines = lines[lines.index("NOT TESTED: tasks were skipped") + 1 :]
    return ["Next:" if line.startswith("Next, in ") else line for line in lines]


def told_by_hook(project: Path, command: list[str]) -> list[str]:
    """Return what the hook says from the command for the tests on, in the project's folder."""
    where = {"PWD": str(project), "AGENTKIT_SKIP_TESTS": "1"}
    lines = [line.strip() for line in run_hook(project, PATH, command, **where).output.splitlines()]
    start = next(number for number, line in enumerate(lines) if "To test: " in line)
    lines[start] = lines[start].removeprefix("Nothing was removed. ")
    return lines[start:]


@pytest.mark.parametrize("manager", MANAGERS)
def test_an_existing_project_is_told_the_same(
    sample_template: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], manager: str
) -> None:
    """Its package manager's commands, its import, and the commit, word for word."""
    project = existing_project(tmp_path / "project", manager)
    data = {"sdks": ["anthropic"]}
    run_copy(str(sample_template), project, data=data, defaults=True, skip_tasks=True)
    told = told_by_message(capfd)
    command = hook_command(code_root="src/shop", kind="foreign", manager=manager)
    assert told == told_by_hook(project, command)
    run = "" if manager == "pip" else f"{manager} run "
    assert f'{run}python -m shop.agentkit ask "hello" --model chat://offline/echo' in told
    assert "from shop.agentkit import Agent" in told
    assert told[-1] == 'git commit -m "Add agentkit"'


def test_a_new_project_is_told_the_same(
    sample_template: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The offline question, a repository, and the first commit, word for word."""
    project = tmp_path / "my-agent"
    run_copy(str(sample_template), project, defaults=True, skip_tasks=True)
    told = told_by_message(capfd)
    command = hook_command(code_root="src/my_agent", name="my-agent")
    assert told == told_by_hook(project, command)
    assert told[-3:] == ["git init", "git add .", 'git commit -m "First commit"']


def test_an_updated_project_is_told_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """How to look at the changes and to commit them, word for word."""
    template = new_template(tmp_path / "template", "v1.0.0")
    project = generate(template, tmp_path / "my-agent", "v1.0.0")
    release(template, "v2.0.0")
    run_update(project, defaults=True, overwrite=True, unsafe=True, skip_tasks=True)
    told = told_by_message(capfd)
    command = hook_command("update", code_root="src/my_agent", name="my-agent")
    assert told == told_by_hook(project, command)
    assert told[-1] == 'git commit -m "Update agentkit"'
