"""Commands of modules that a project may leave out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import typer

from ..errors import ConfigError
from .conversation import Setup
from .terminal import complain

_AGENTKIT = __package__.rpartition(".")[0]
_MODULES = {  # by the name that the template asks for: a file that each brings, if it is there
    "mcp": "tools.mcp_client",
    "local_fetcher": "content.local_fetcher",
    "brave": "content.brave_search",
    "jina": "content.jina",
    "server": "server",
    "redis": "session.redis_store",
    "postgres": "session.postgres_store",
    "durable": "durable",
    "tracing": "observability.tracing",
}


def is_generated(name: str) -> bool:
    """Tell whether agentkit has this module or package, without importing it."""
    try:
        return find_spec(f"{_AGENTKIT}.{name}") is not None
    except ModuleNotFoundError:
        return False  # not even the package that it lies in


def run_module(setup: Setup, name: str, module: str, arguments: Sequence[str]) -> None:
    """Call `run(build_agent, prog, arguments)` of a module; `module` is its name in the template.

    A module that was not generated ends the program with exit code 2 and says how to add it.
    Raises `ConfigError` when a package that it needs is not installed.
    """
    if not is_generated(name):
        complain(_advice(module))
        raise typer.Exit(2)
    try:
        found = import_module(f"{_AGENTKIT}.{name}")
    except ModuleNotFoundError as error:
        raise ConfigError(f"the module {module} needs {error.name}; install it") from None
    found.run(setup.build_agent, setup.prog, arguments)


def _advice(module: str) -> str:
    """Return how to add a module; an update that names modules drops those it does not name."""
    wanted = [name for name, file in _MODULES.items() if name == module or is_generated(file)]
    return (
        f"this project was generated without the module {module}; add it with "
        f"copier update --trust --defaults --data 'modules=[{','.join(wanted)}]'"
    )
