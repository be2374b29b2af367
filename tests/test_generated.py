"""The generated project works: its suite, its linter and its type checker agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from answers import Answers, covering, everything, label
from conftest import Render
from installed import interpreter
from sources import expected_files

NAMES = ["my-agent", "a", "n" * 80]
KEYS = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "LITELLM_", "BRAVE_", "JINA_")
STRICT = """\
[tool.pytest.ini_options]
addopts = "--strict-markers --strict-config"
filterwarnings = ["error"]
"""
USE_TOOL = """\
import asyncio
from my_agent.agentkit import ToolContext, ToolError
from my_agent.tools import get_word

print(asyncio.run(get_word.execute({"word": " Brisk"}, ToolContext())))
try:
    asyncio.run(get_word.execute({"word": "zyzzyva"}, ToolContext()))
except ToolError as error:
    print(error)
"""


def start(
    project: Path, *arguments: str, python: str | Path = sys.executable, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a project, without the settings of the shell that runs the tests."""
    dropped = ("PYTEST", "PYTHONPATH", "COV_", "AGENT", *KEYS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    environment |= {"PYTHONPATH": str(project / "src"), "NO_COLOR": "1", "TERM": "dumb", **extra}
    return subprocess.run(
        [str(python), *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )


def run(project: Path, *arguments: str, python: str | Path = sys.executable, **extra: str) -> str:
    """Run a Python module that must succeed, and return what it prints."""
    done = start(project, "-m", *arguments, python=python, **extra)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """mypy's arguments; all projects share what it knows of the installed packages."""
    return ("mypy", "--strict", f"--cache-dir={tmp_path_factory.mktemp('mypy')}")


def test_the_generated_suite_passes(render_whole: Render, tmp_path: Path) -> None:
    """pytest finds agentkit's tests and all pass, with no package that the project lacks.

    What there is with all choices together is what runs in place, in the template.
    """
    check_suite(render_whole(), tmp_path / "venv")


@pytest.mark.parametrize("answers", covering()[1:], ids=label)
def test_the_suite_of_one_choice_passes(
    render_whole: Render, tmp_path: Path, answers: Answers
) -> None:
    """The tests that a choice brings pass with its packages alone."""
    brought = expected_files(answers) - expected_files({})
    tests = sorted(name for name in brought if Path(name).name.startswith("test_"))
    assert tests
    check_suite(render_whole(**answers), tmp_path / "venv", *tests)


def check_suite(project: Path, environment: Path, *tests: str) -> None:
    """Run tests of a project in an environment that has its packages and no others."""
    python = interpreter(project, environment)
    output = run(project, "pytest", "-q", "-p", "no:cacheprovider", *tests, python=python)
    assert " passed" in output
    assert " skipped" not in output


@pytest.mark.parametrize("answers", [{}, everything()], ids=label)
def test_the_generated_code_is_clean(
    render_whole: Render, mypy: tuple[str, ...], answers: Answers
) -> None:
    """ruff and mypy --strict agree, also where SDKs are installed that were not chosen."""
    project = render_whole(**answers)
    run(project, "ruff", "check", "--no-cache")
    run(project, "ruff", "format", "--check", "--no-cache")
    run(project, *mypy)


def test_the_types_are_right_without_any_sdk(
    render_whole: Render, mypy: tuple[str, ...], tmp_path: Path
) -> None:
    """mypy --strict has nothing to say where only the project's own packages are installed."""
    project = render_whole()
    run(project, *mypy, python=interpreter(project, tmp_path / "venv"))


def test_the_suite_passes_in_an_existing_project(render_whole: Render, tmp_path: Path) -> None:
    """In a folder of any depth, inside the user's package, under strict settings of theirs.

    All of it is collected; what depends on where it lies is run.
    """
    package = tmp_path / "shop" / "lib" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / "shop" / "pyproject.toml").write_text(STRICT, encoding="utf-8")
    project = render_whole("shop", code_root="lib/shop")
    run(project, "pytest", "-q", "-p", "no:cacheprovider", "--collect-only")
    tests = [f"lib/shop/agentkit/tests/{name}" for name in ("agent", "cli", "test_structure.py")]
    assert " passed" in run(project, "pytest", "-q", "-p", "no:cacheprovider", *tests)


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_answers_without_key_and_network(render_whole: Render, name: str) -> None:
    """The first command that a user types gets an answer from the offline model."""
    project = render_whole(name)
    package = name.replace("-", "_")
    output = run(project, package, "ask", "hello there", "--model", "chat://offline/echo")
    assert "hello there" in output


@pytest.mark.parametrize(
    "answers", [{"project_name": "test-agent"}, {"code_root": "lib/inner/shop"}], ids=str
)
def test_the_users_own_test_is_there_and_passes(
    render_whole: Render, mypy: tuple[str, ...], answers: Answers
) -> None:
    """`tests/test_agent.py` runs the agent of main.py, wherever that is and whatever its name."""
    project = render_whole(**answers)
    code = (project / str(answers.get("code_root", "src/x"))).parent
    output = run(project, "pytest", "-q", "-p", "no:cacheprovider", "tests", PYTHONPATH=str(code))
    assert "1 passed" in output
    run(project, "ruff", "check", "--no-cache", "tests")
    run(project, "ruff", "format", "--check", "--no-cache", "tests")
    run(project, *mypy, "tests", MYPYPATH=str(code))


def test_the_environment_chooses_the_model(render_whole: Render) -> None:
    """$AGENT_MODEL wins over the model in main.py, and --model over both."""
    project = render_whole()
    default = start(project, "-m", "my_agent", "ask", "hi")
    assert default.returncode != 0
    assert "OPENAI_API_KEY" in default.stderr
    assert "hi" in run(project, "my_agent", "ask", "hi", AGENT_MODEL="chat://offline/echo")
    option = ["--model", "chat://offline/echo"]
    assert "hi" in run(project, "my_agent", "ask", "hi", *option, AGENT_MODEL="chat://openai/x")


def test_the_generated_tool_answers_from_its_list(render_whole: Render) -> None:
    """`get_word` finds a word in any case, and names the words it has for any other."""
    done = start(render_whole(), "-c", USE_TOOL)
    found, missing = done.stdout.splitlines()
    assert "quick and full of energy" in found
    assert "no entry for 'zyzzyva'; the list has brisk, diligent" in missing


def test_the_tool_list_shows_the_generated_tool(render_whole: Render) -> None:
    """`tools` lists what the model may call: the tool of tools.py."""
    assert "get_word" in run(render_whole(), "my_agent", "tools")


def test_an_existing_project_has_the_command_line_too(render_whole: Render, tmp_path: Path) -> None:
    """`python -m <package>.agentkit` is the CLI with a default agent."""
    package = tmp_path / "shop" / "src" / "shop"
    package.mkdir(parents=True)
    (tmp_path / "shop" / "setup.py").touch()
    (package / "__init__.py").touch()
    output = run(
        render_whole("shop"), "shop.agentkit", "ask", "hi", "--model", "chat://offline/echo"
    )
    assert "hi" in output
