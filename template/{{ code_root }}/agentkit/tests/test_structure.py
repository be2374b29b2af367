"""The direction of imports, the size of files, and what the core may load when it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = (  # each may import what stands before it
    {"texts", "messages", "errors", "retry", "network_stream", "connections", "transport"},
    {"observability"},
    {"tools"},
    {"session", "content"},
    {"llm"},
    {"agent"},
    {"cli", "server", "durable", "mcp_server"},
    {"__init__", "__main__"},
)
OPTIONAL = re.compile(
    r"(observability\.tracing\w*|tools\.mcp_\w+|content|server|durable|mcp_server"
    r"|session\.((redis|postgres|layered)_\w+|connections|lease)"
    r"|llm\.providers\.(openai(_reply|_wire)?|gemini|(anthropic|google|litellm)\w*))(\.|$)"
)
LAZY = {
    *("yaml", "genai_prices", "typer", "rich", "sqlite3", "mcp"),
    *("redis", "sqlalchemy", "asyncpg"),
    *("openai", "anthropic", "google", "litellm"),
}
LONGEST = 250

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(ROOT.rglob("*.py"))
    if "tests" not in path.relative_to(ROOT).parts
}


def is_optional(name: str) -> bool:
    """Tell whether a module, or a name in it, is one that a project may leave out."""
    return OPTIONAL.match(name) is not None


CORE = {name for name in SOURCES if not is_optional(name)}


@cache
def tree(name: str) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


def imports(name: str) -> Iterator[str]:
    """Yield what a module imports of agentkit, as `llm.provider` and `llm.provider.Request`."""
    package = name.split(".")[:-1]
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            found = ".".join(filter(None, base))
            yield from (found, *(f"{found}.{alias.name}".strip(".") for alias in node.names))


def loads(module: ast.AST) -> Iterator[str]:
    """Yield the top-level packages that a module loads as soon as it is imported itself."""
    for node in ast.iter_child_nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).split(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and not (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            yield from loads(node)


def layer(name: str) -> int:
    """Return the number of the layer that a module belongs to."""
    return next(index for index, names in enumerate(LAYERS) if name.split(".")[0] in names)


def may_import(name: str, target: str) -> bool:
    """Tell whether the layers allow it: own package, or a lower layer; the lowest is one family."""
    own = name.split(".")[0] == target.split(".")[0]
    return own or layer(target) < layer(name) or layer(name) == layer(target) == 0


def test_every_module_has_a_layer() -> None:
    """A new top-level module must be given its place in LAYERS."""
    known = set().union(*LAYERS)
    assert [name for name in SOURCES if name.split(".")[0] not in known] == []


def test_imports_point_downwards() -> None:
    """No module imports from a layer above its own, or from its neighbour."""
    wrong = {(n, t) for n in SOURCES for t in imports(n) if t and not may_import(n, t)}
    assert sorted(wrong) == []


def test_the_core_imports_nothing_optional() -> None:
    """Whatever modules a project left out, the core is complete."""
    optional = {(n, t) for n in CORE for t in imports(n) if is_optional(t)}
    assert sorted(optional) == []


def test_agentkit_imports_itself_relatively() -> None:
    """The package works wherever its folder stands, so it never names itself."""
    nodes = [(name, node) for name in SOURCES for node in ast.walk(tree(name))]
    absolute = [
        (name, ast.unparse(node))
        for name, node in nodes
        if (isinstance(node, ast.Import) and "agentkit" in ast.unparse(node))
        or (isinstance(node, ast.ImportFrom) and not node.level and "agentkit" in str(node.module))
    ]
    assert absolute == []


def test_the_core_loads_heavy_packages_only_when_used() -> None:
    """YAML, prices, SQLite and the like are imported inside functions; the CLI has its own two."""
    heavy = [
        (name, package)
        for name in sorted(CORE)
        for package in loads(tree(name))
        if package in LAZY and not (layer(name) == layer("cli") and package in ("typer", "rich"))
    ]
    assert heavy == []


def test_files_are_short() -> None:
    """No file is longer than what can be read in one go."""
    lengths = {n: len(p.read_text(encoding="utf-8").splitlines()) for n, p in SOURCES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
