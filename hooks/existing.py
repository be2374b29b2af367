"""What an existing project says of itself: its package manager and its oldest Python."""

from __future__ import annotations

import re
from pathlib import Path

OLDEST_PYTHON = (3, 11)
# Copier may run on a Python without tomllib, so files are searched, not parsed. Tables first:
# a build backend is also used by those who install with another tool.
_MANAGERS = (
    ("poetry", re.compile(r"^\s*\[tool\.poetry[.\]]", re.MULTILINE)),
    ("pdm", re.compile(r"^\s*\[tool\.pdm[.\]]", re.MULTILINE)),
    ("uv", re.compile(r"^\s*\[\[?tool\.uv[.\]]", re.MULTILINE)),
    ("poetry", re.compile(r"^\s*build-backend\s*=\s*[\"']poetry\.", re.MULTILINE)),
    ("pdm", re.compile(r"^\s*build-backend\s*=\s*[\"']pdm\.", re.MULTILINE)),
    ("uv", re.compile(r"^\s*build-backend\s*=\s*[\"']uv_build", re.MULTILINE)),
)
_FLOORS = (
    ("pyproject.toml", re.compile(r"^\s*requires-python\s*=\s*[\"']([^\"']*)", re.MULTILINE)),
    ("pyproject.toml", re.compile(r"^\s*python\s*=\s*[\"']([^\"']*)", re.MULTILINE)),
    ("setup.cfg", re.compile(r"^\s*python_requires\s*=\s*([^\n#]*)", re.MULTILINE)),
    ("setup.py", re.compile(r"\bpython_requires\s*=\s*[\"']([^\"']*)")),
)
_LOWER = re.compile(r"(?:>=|~=|==|>|\^|~)\s*(\d+)(?:\.(\d+))?|^\s*(\d+)(?:\.(\d+))?")


def find_manager(folder: Path) -> str | None:
    """Return the package manager that pyproject.toml has settings of; None when it names none."""
    settings = _read(folder / "pyproject.toml")
    return next((name for name, pattern in _MANAGERS if pattern.search(settings)), None)


def older_python(folder: Path) -> str | None:
    """Return `file: what it says` when the project allows a Python that agentkit cannot run on."""
    for name, pattern in _FLOORS:
        if found := pattern.search(_read(folder / name)):
            said = found[1].strip()
            return f"{name}: {said}" if said and _floor(said) < OLDEST_PYTHON else None
    return None


def _floor(specifier: str) -> tuple[int, int]:
    """Return the oldest version that a specifier allows; "||" parts alternatives (poetry)."""
    return min(
        max(
            (_version(found) for part in choice.split(",") if (found := _LOWER.search(part))),
            default=(0, 0),
        )
        for choice in specifier.split("||")
    )


def _version(found: re.Match[str]) -> tuple[int, int]:
    return int(found[1] or found[3]), int(found[2] or found[4] or 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
