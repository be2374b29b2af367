"""Commands of modules that a project may leave out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import typer

from ..errors import ConfigError
from .conversation import Setup
from .terminal import complain

_AGENTKIT = __package__.rpartition(".")[0]


def run_module(setup: Setup, name: str, module: str, arguments: Sequence[str]) -> None:
    """Call `run(build_agent, prog, arguments)` of a module; `module` is its name in the template.

    A module that was not generated ends the program with exit code 2 and says how to add it.
    Raises `ConfigError` when a package that it needs is not installed.
    """
    try:
        found = import_module(f"{_AGENTKIT}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{_AGENTKIT}.{name}":
            raise ConfigError(f"the module {module} needs {error.name}; install it") from None
        complain(
            f"this project was generated without the module {module}; add it with "
            f"copier update --trust --data 'modules=[{module}]' (list those it has, too)"
        )
        raise typer.Exit(2) from None
    found.run(setup.build_agent, setup.prog, arguments)
