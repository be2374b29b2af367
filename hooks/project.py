"""What the hook knows about the project it was started in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import existing

PACKAGE = "agentkit"
REQUIREMENTS = "agentkit-requirements.txt"


class WrongPlace(Exception):
    """The hook was not started by the template's own copier.yml, or not in a project of it."""


@dataclass(frozen=True)
class Project:
    """The answers that matter here; `foreign` means that it brought its own packaging."""

    operation: str
    code_root: str
    foreign: bool
    manager: str
    name: str
    folder: Path

    @property
    def package(self) -> str:
        """The path of agentkit below the project, with forward slashes."""
        return (Path(self.code_root) / PACKAGE).as_posix()

    @property
    def import_path(self) -> str:
        """The dotted name of agentkit: "shop.agentkit" for "src/shop", "agentkit" for "."."""
        parts = Path(self.package).parts
        # A folder named src is a search path, unless it is a package itself.
        if parts[0] == "src" and not (self.folder / "src" / "__init__.py").exists():
            parts = parts[1:]
        return ".".join(parts)


def parse_arguments(arguments: list[str], folder: Path) -> Project:
    """Turn the hook's five arguments into a Project; WrongPlace says what is wrong."""
    if len(arguments) != 5:
        raise WrongPlace(f"5 arguments are needed, got {len(arguments)}")
    operation, code_root, kind, manager, name = arguments
    allowed = {
        "operation": (operation, ("copy", "update")),
        "kind": (kind, ("own", "foreign")),
        "package manager": (manager, ("uv", "poetry", "pdm", "pip")),
    }
    for what, (value, choices) in allowed.items():
        if value not in choices:
            raise WrongPlace(f"{what} is {value!r}, not one of {', '.join(choices)}")
    if kind == "foreign" and manager == "pip":
        # Copier found no lock file, and cannot look into pyproject.toml.
        manager = existing.find_manager(folder) or manager
    return Project(operation, code_root, kind == "foreign", manager, name, folder)
