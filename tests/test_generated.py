"""The generated project works: its suite, its linter and its type checker agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from answers import Answers, covering, label
from conftest import Render

NAMES = ["my-agent", "a", "n" * 80]
STRICT = """\
[tool.pytest.ini_options]
addopts = "--strict-markers --strict-config"
filterwarnings = ["error"]
"""


def run(project: Path, *arguments: str) -> str:
    """Run a Python module in a project, without the settings of the shell that runs the tests."""
    dropped = ("PYTEST", "PYTHONPATH", "COV_", "AGENTKIT", "AGENT_MODEL")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    environment |= {"PYTHONPATH": str(project / "src"), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("answers", covering(), ids=label)
def test_the_generated_suite_passes(render: Render, answers: Answers) -> None:
    """pytest, with the project's own settings, finds agentkit's tests and all pass."""
    output = run(render(**answers), "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in output
    assert " skipped" not in output


@pytest.mark.parametrize("answers", covering(), ids=label)
def test_the_generated_code_is_clean(render: Render, answers: Answers) -> None:
    """ruff check, ruff format and mypy --strict have nothing to say about the project."""
    project = render(**answers)
    run(project, "ruff", "check", "--no-cache")
    run(project, "ruff", "format", "--check", "--no-cache")
    run(project, "mypy", "--strict", f"--cache-dir={project.parent / 'mypy'}")


def test_the_suite_passes_wherever_the_code_lies(render: Render) -> None:
    """agentkit only imports relative to itself, so the folder does not matter."""
    project = render(code_root="lib/shop")
    assert " passed" in run(project, "pytest", "-q", "-p", "no:cacheprovider")


def test_the_suite_passes_in_an_existing_project(render: Render, tmp_path: Path) -> None:
    """It runs inside a package of the user's, under strict settings that are not ours."""
    project = tmp_path / "shop"
    (project / "shop").mkdir(parents=True)
    (project / "shop" / "__init__.py").touch()
    (project / "pyproject.toml").write_text(STRICT, encoding="utf-8")
    assert " passed" in run(render("shop"), "pytest", "-q", "-p", "no:cacheprovider")


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_answers_without_key_and_network(render: Render, name: str) -> None:
    """The first command that a user types gets an answer from the offline model."""
    project = render(name)
    package = name.replace("-", "_")
    output = run(project, package, "ask", "hello there", "--model", "chat://offline/echo")
    assert "hello there" in output


def test_the_tool_list_shows_the_generated_tool(default_project: Path) -> None:
    """`tools` lists what the model may call: the tool of tools.py."""
    assert "get_word" in run(default_project, "my_agent", "tools")


def test_an_existing_project_has_the_command_line_too(render: Render, tmp_path: Path) -> None:
    """`python -m <package>.agentkit` is the CLI with a default agent."""
    package = tmp_path / "shop" / "src" / "shop"
    package.mkdir(parents=True)
    (tmp_path / "shop" / "setup.py").touch()
    (package / "__init__.py").touch()
    output = run(render("shop"), "shop.agentkit", "ask", "hi", "--model", "chat://offline/echo")
    assert "hi" in output
