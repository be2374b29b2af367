"""What agentkit imports is what a project installs."""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from answers import MODULES, SDKS
from installed import installed, needs_of
from sources import ROOT, matches, template_files

OPTIONAL = [pattern for patterns in (SDKS | MODULES).values() for pattern in patterns]


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
    known = installed(needs_of(default_project))
    modules = {
        module
        for module, names in packages_distributions().items()
        if known & {canonicalize_name(name) for name in names}
    }
    for name in template_files():
        if name.endswith(".py") and "/agentkit/" in name and not matches(name, OPTIONAL):
            foreign = imported(ROOT / "template" / name) - modules - set(sys.stdlib_module_names)
            assert not foreign, f"{name} imports {foreign}"
