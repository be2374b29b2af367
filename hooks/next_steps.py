"""The commands that the user types next, for their tools and their system.

Copier's after-message in copier.yml uses the same words.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from existing import older_python
from plan import has_package, venv_python
from project import REQUIREMENTS, Project
from repository import is_repository

_RUN_PREFIX = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pip": ""}


def test_command(project: Project) -> str:
    """Return the one command that runs the same tests."""
    if project.foreign:
        prefix = (
            "uv run --with pytest " if project.manager == "uv" else _RUN_PREFIX[project.manager]
        )
        return f"{prefix}python -m pytest {project.package}"
    if shutil.which("uv"):
        return "uv run python -m pytest"
    python = _relative_venv_python()
    if has_package(project.folder / ".venv", "pytest"):
        return f"{python} -m pytest"
    install = f'{python} -m pip install -U "pip>=25.1" && {python} -m pip install -e . --group dev'
    return f"{_python_name()} -m venv .venv && {install} && {python} -m pytest"


def after_copy(project: Project) -> list[str]:
    """Return what to type after the first copy, ready to print."""
    commands = [*_start(project), *(f"  {command}" for command in first_commands(project))]
    if not project.foreign:
        return [*commands, *_commit(project, "First commit")]
    return [*_python(project), *commands, *_use(project), *_commit(project, "Add agentkit")]


def first_commands(project: Project) -> list[str]:
    """Return what leads to the first answer: in an existing project the packages come before."""
    return [*([add_command(project)] if project.foreign else []), ask_command(project)]


def after_update(project: Project) -> list[str]:
    """Return what to type after an update, ready to print."""
    return [*_start(project), "  git diff HEAD", *_commit(project, "Update agentkit")]


def ask_command(project: Project) -> str:
    """Return the question that needs neither a key nor a network."""
    question = 'ask "hello" --model chat://offline/echo'
    if project.foreign:
        return f"{_RUN_PREFIX[project.manager]}python -m {project.import_path} {question}"
    if shutil.which("uv"):
        return f"uv run {project.name} {question}"
    scripts = _relative_venv_python().removesuffix("python")
    return f"{scripts}{project.name} {question}"


def add_command(project: Project) -> str:
    """Return the command that adds agentkit's packages with the project's own manager."""
    if project.manager == "uv":
        return f"uv add -r {REQUIREMENTS}"
    if project.manager == "pip":
        return f"python -m pip install -r {REQUIREMENTS}"
    # Written out: neither tool reads the file, and no shell is asked to split it.
    needs = " ".join(f'"{need}"' for need in _requirements(project.folder))
    return f"{project.manager} add {needs}"


def _start(project: Project) -> list[str]:
    change = _change_folder(project.folder)
    return ["Next:"] if change is None else ["Next:", f"  {change}"]


def _python(project: Project) -> list[str]:
    if (said := older_python(project.folder)) is None:
        return []
    return [
        f"WARNING: agentkit needs Python 3.11 or newer, your project allows older ones ({said})."
        " Raise that first, or its packages may be refused."
    ]


def _use(project: Project) -> list[str]:
    return [
        "In your code:",
        "  import asyncio",
        f"  from {project.import_path} import Agent",
        '  print(asyncio.run(Agent("chat://offline/echo").chat("hello")))',
        "If you measure coverage, leave agentkit out (it has its own tests), in pyproject.toml:",
        "  [tool.coverage.run]",
        '  omit = ["*/agentkit/*"]',
    ]


def _commit(project: Project, message: str) -> list[str]:
    if not shutil.which("git"):
        return ["Install git and commit the project: updates need a clean, committed tree."]
    start = [] if is_repository(project.folder) else ["  git init"]
    why = "Then commit everything, lock files included: updates need a clean, committed tree."
    return [why, *start, "  git add .", f'  git commit -m "{message}"']


def _change_folder(folder: Path) -> str | None:
    """Return the cd from the shell's folder to the project; None when it is there already."""
    shell = Path(os.environ.get("PWD", ""))
    if not shell.is_absolute() or not shell.is_dir():
        return f"cd {_quote(str(folder))}"
    if shell.resolve() == folder.resolve():
        return None
    try:
        relative = os.path.relpath(folder.resolve(), shell.resolve())
    except ValueError:
        return f"cd {_quote(str(folder))}"
    return f"cd {_quote(min(relative, str(folder), key=len))}"


def _quote(text: str) -> str:
    return subprocess.list2cmdline([text]) if sys.platform == "win32" else shlex.quote(text)


def _requirements(folder: Path) -> list[str]:
    try:
        lines = (folder / REQUIREMENTS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    needs = (line.split("#")[0].strip().replace('"', "'") for line in lines)
    return [need for need in needs if need]


def _relative_venv_python() -> str:
    return str(venv_python(Path(".venv")).with_suffix(""))


def _python_name() -> str:
    return "py" if sys.platform == "win32" else "python3"
