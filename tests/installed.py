"""What a project installs, and an interpreter that finds these packages and no others."""

from __future__ import annotations

import tomllib
import venv
from collections.abc import Collection
from importlib.metadata import distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needs_of(project: Path) -> list[str]:
    """Return the requirements in a new project's pyproject.toml, those of its checks as well."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    needs: list[str] = settings["project"]["dependencies"] + settings["dependency-groups"]["dev"]
    return needs


def installed(needs: list[str]) -> set[str]:
    """Return the names of these distributions and of all that they need in turn."""
    found: dict[str, set[str]] = {}
    waiting = [Requirement(need) for need in needs]
    while waiting:
        need = waiting.pop()
        name = canonicalize_name(need.name)
        if name in found and need.extras <= found[name]:
            continue
        extras = found.setdefault(name, set())
        extras |= need.extras
        below = [Requirement(text) for text in requires(name) or []]
        waiting += [other for other in below if _applies(other, extras)]
    return set(found)


def interpreter(project: Path, folder: Path) -> Path:
    """Make a virtual environment of links to what a project installs; return its Python."""
    venv.create(folder, symlinks=True)
    target = next(folder.glob("lib/python*/site-packages"))
    for name in installed(needs_of(project)):
        files = distribution(name).files or []
        for part in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            link = target / part
            if not link.is_symlink():
                link.symlink_to(Path(str(distribution(name).locate_file(part))))
    return folder / "bin" / "python"


def _applies(need: Requirement, extras: Collection[str]) -> bool:
    marker = need.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras})
