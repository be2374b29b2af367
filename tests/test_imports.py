"""What agentkit imports is what a project installs."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

from answers import MODULES, SDKS, UNFINISHED
from sources import ROOT, matches, template_files

OPTIONAL = [pattern for patterns in (SDKS | MODULES).values() for pattern in patterns]
OPTIONAL += UNFINISHED


def installed(needs: list[str]) -> set[str]:
    """Return the names of these distributions and of all that they need in turn."""
    found: set[str] = set()
    waiting = [Requirement(need) for need in needs]
    while waiting:
        need = waiting.pop()
        if need.name.lower() in found or (need.marker and not need.marker.evaluate()):
            continue
        found.add(need.name.lower())
        waiting += [Requirement(text) for text in requires(need.name) or []]
    return found


def imported(path: Path) -> set[str]:
    """Return the top-level packages that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_what_is_not_optional_imports_only_what_is_installed(default_project: Path) -> None:
    """A file that needs another package is optional: list it in answers.py and in `_exclude`."""
    settings = tomllib.loads((default_project / "pyproject.toml").read_text(encoding="utf-8"))
    needs = settings["project"]["dependencies"] + settings["dependency-groups"]["dev"]
    known = installed(needs)
    modules = {
        module
        for module, names in packages_distributions().items()
        if known & {name.lower() for name in names}
    }
    for name in template_files():
        if name.endswith(".py") and "/agentkit/" in name and not matches(name, OPTIONAL):
            foreign = imported(ROOT / "template" / name) - modules - set(sys.stdlib_module_names)
            assert not foreign, f"{name} imports {foreign}"
