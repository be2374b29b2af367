"""Imports of modules that an update took away: the project would not start any more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from project import PACKAGE, Project


def find_broken(project: Project, head: dict[str, str]) -> list[str]:
    """Return `file:line: the module that is gone` for every such import.

    `head` holds the paths of the project's last commit, relative to its folder.
    """
    ours = [path for path in head if path.startswith(project.package + "/")]
    gone = {path for path in ours if path.endswith(".py") and not (project.folder / path).exists()}
    if not gone:
        return []
    sources = [path for path in sorted(head) if path.endswith(".py") and path not in gone]
    return [line for path in sources for line in _broken_in(project, path, gone)]


def _broken_in(project: Project, path: str, gone: set[str]) -> Iterator[str]:
    for node in _import_statements(project, path):
        for module in _modules(project, path, node):
            for file in (f"{module}.py", f"{module}/__init__.py"):
                if file in gone:
                    yield f"{path}:{node.lineno}: {file}"


def _import_statements(project: Project, path: str) -> list[ast.Import | ast.ImportFrom]:
    try:
        source = (project.folder / path).read_bytes()
        # A big repository is not parsed as a whole for the few files that use agentkit.
        if PACKAGE.encode() not in source and not path.startswith(project.package + "/"):
            return []
        nodes = list(ast.walk(ast.parse(source)))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def _modules(project: Project, path: str, node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the project paths, without suffix, of what a statement may import from agentkit."""
    if isinstance(node, ast.Import):
        found = [_below(project, alias.name.split(".")) for alias in node.names]
    else:
        start = _start(project, path, node)
        found = [start, *(f"{start}/{alias.name}" for alias in node.names if start)]
    return [module for module in found if module is not None]


def _start(project: Project, path: str, node: ast.ImportFrom) -> str | None:
    parts = node.module.split(".") if node.module else []
    if not node.level:
        return _below(project, parts)
    folder = PurePosixPath(path).parent
    for _ in range(node.level - 1):
        folder = folder.parent
    return str(folder.joinpath(*parts))


def _below(project: Project, parts: list[str]) -> str | None:
    """Translate an absolute name that leads through agentkit, whatever the import root is."""
    if PACKAGE not in parts:
        return None
    at = parts.index(PACKAGE)
    if parts[:at] != list(Path(project.code_root).parts)[-at:] and at:
        return None
    return Path(project.package, *parts[at + 1 :]).as_posix()
