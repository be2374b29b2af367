"""Where agentkit is installed and tested, and with which commands."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from project import PACKAGE, REQUIREMENTS, Project

_OLDEST_PYTHON = (3, 11)
_TEST_TOOLS = ("pytest", "ruff")
_WORKSPACE = re.compile(r"^\s*\[tool\.uv\.workspace\]|^\s*workspace\s*=\s*\{", re.MULTILINE)


class CannotTest(Exception):
    """Nothing can be installed or tested here; the text says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """Commands as argument lists: `install` in order, then `python` runs agentkit's tests."""

    label: str
    folder: Path
    install: list[list[str]]
    python: list[str]
    package: str


def make_plan(project: Project, scratch: Path) -> Plan:
    """Choose the environment: the project's own, or a throw-away one below `scratch`.

    CannotTest when something that every way needs is missing.
    """
    uv = shutil.which("uv")
    if project.foreign:
        return _throw_away(project, scratch, uv)
    if uv is None:
        return _own_venv(project)
    if (workspace := find_workspace(project.folder)) is not None:
        return _outside_workspace(project, scratch, uv, workspace)
    return Plan("uv, .venv", project.folder, [[uv, "sync"]], _uv_python(uv), project.package)


def find_workspace(folder: Path) -> Path | None:
    """Return the nearest folder above that is a uv workspace.

    `uv sync` below one would rewrite that workspace's lock file.
    """
    for parent in folder.resolve().parents:
        try:
            settings = (parent / "pyproject.toml").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if _WORKSPACE.search(settings):
            return parent
    return None


def venv_python(venv: Path) -> Path:
    """Return the interpreter of a virtual environment on this system."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def has_package(venv: Path, name: str) -> bool:
    """Tell whether a package is installed in a virtual environment."""
    patterns = (f"lib/python*/site-packages/{name}", f"Lib/site-packages/{name}")
    return any(True for pattern in patterns for _ in venv.glob(pattern))


def _uv_python(uv: str) -> list[str]:
    # Not "uv run pytest": without pytest in the project that takes one from PATH.
    return [uv, "run", "--no-sync", "python"]


def _own_venv(project: Project) -> Plan:
    venv = project.folder / ".venv"
    python = str(venv_python(venv))
    # -I: a pip.py or venv.py of the user's is not taken for the real one.
    # Run over an existing folder without pip (made by uv, or left half-made) venv completes it.
    create = [] if has_package(venv, "pip") else [[_base_python(), "-I", "-m", "venv", str(venv)]]
    # Older pips do not know --group.
    upgrade = [python, "-I", "-m", "pip", "install", "--no-input", "--upgrade", "pip>=25.1"]
    install = [python, "-I", "-m", "pip", "install", "--no-input", "-e", ".", "--group", "dev"]
    steps = [*create, upgrade, install]
    return Plan(
        "venv and pip, .venv (uv is faster)", project.folder, steps, [python], project.package
    )


def _outside_workspace(project: Project, scratch: Path, uv: str, workspace: Path) -> Plan:
    """Test a copy, with the project's dependencies but without the project itself."""
    _copy_package(project, scratch / project.package)
    shutil.copyfile(project.folder / "pyproject.toml", scratch / "pyproject.toml")
    label = f"throw-away, by uv: {workspace} is another workspace"
    sync = [uv, "sync", "--no-install-project"]
    return Plan(label, scratch, [sync], _uv_python(uv), project.package)


def _throw_away(project: Project, scratch: Path, uv: str | None) -> Plan:
    """Test a copy: relative imports let it run anywhere, whatever the project's settings."""
    _copy_package(project, scratch / PACKAGE)
    _copy_requirements(project, scratch)
    # Ends pytest's search for settings and conftest files above.
    (scratch / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    if uv is None:
        return _throw_away_venv(scratch)
    needs = [f"--with={tool}" for tool in _TEST_TOOLS]
    python = [uv, "run", "--no-project", "--isolated", "--python", ">=3.11"]
    python += ["--with-requirements", REQUIREMENTS, *needs, "python"]
    return Plan("throw-away, by uv", scratch, [[*python, "-c", "pass"]], python, PACKAGE)


def _throw_away_venv(scratch: Path) -> Plan:
    venv = scratch / "venv"
    python = str(venv_python(venv))
    needs = ["-r", REQUIREMENTS, *_TEST_TOOLS]
    create = [_base_python(), "-I", "-m", "venv", str(venv)]
    install = [python, "-I", "-m", "pip", "install", "--no-input", *needs]
    return Plan("throw-away, by venv and pip", scratch, [create, install], [python], PACKAGE)


def _copy_package(project: Project, target: Path) -> None:
    source = project.folder / project.package
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))


def _copy_requirements(project: Project, scratch: Path) -> None:
    try:
        shutil.copyfile(project.folder / REQUIREMENTS, scratch / REQUIREMENTS)
    except FileNotFoundError:
        raise CannotTest(
            f"{REQUIREMENTS} is gone, so the packages to test with are unknown"
        ) from None


def _base_python() -> str:
    names = [f"python3.{minor}" for minor in range(19, _OLDEST_PYTHON[1] - 1, -1)]
    # Copier itself may run on an older Python than the project needs.
    return _first(
        [sys.executable] if sys.version_info >= _OLDEST_PYTHON else map(shutil.which, names)
    )


def _first(found: Iterable[str | None]) -> str:
    for python in filter(None, found):
        return python
    raise CannotTest("Python 3.11 or newer was not found; install it, or uv (docs.astral.sh/uv)")
