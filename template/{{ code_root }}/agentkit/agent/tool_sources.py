"""Tools that are not the agent's own: where they come from, and what happens when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..errors import ConfigError
from ..observability.logger import Logger
from ..observability.redact import exception_text
from ..tools.registry import ToolRegistry
from ..tools.tool import Tool


class ToolSource(Protocol):
    """Where tools come from, such as an MCP server."""

    name: str

    async def connect(self) -> None:
        """Connect; connecting twice does nothing."""
        ...

    async def disconnect(self) -> None:
        """Disconnect; disconnecting twice does nothing."""
        ...

    async def get_tools(self) -> dict[str, Tool]:
        """Return the tools by name."""
        ...


class ToolSources:
    """The sources of an agent, all asked before each run: servers come and go, their tools change.

    A source that fails costs its tools and one warning that names it and the root cause; so does
    a tool whose name is taken. What stays wrong is not said again.
    """

    def __init__(self, sources: Iterable[ToolSource], logger: Logger) -> None:
        self._sources = list(sources)
        self._logger = logger
        self._warned: list[str] = []
        self._registry = ToolRegistry()

    def __iter__(self) -> Iterator[ToolSource]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    async def registry(self, own: Sequence[Tool]) -> ToolRegistry:
        """Return a registry of the agent's own tools and theirs: the same while nothing changed."""
        problems: list[str] = []
        found = await asyncio.gather(*(_tools_of(source, problems) for source in self))
        registry = ToolRegistry(own)
        for source, tools in zip(self, found, strict=True):
            for tool in tools:
                try:
                    registry.register(tool)
                except ConfigError as error:
                    problems.append(f"a tool of {source.name} is left out: {error}")
        for problem in problems:
            if problem not in self._warned:
                self._logger.warn(problem)
        self._warned = problems
        if registry.schemas() != self._registry.schemas():
            self._registry = registry
        return self._registry

    async def disconnect(self) -> None:
        """Disconnect all sources; one that fails costs a warning."""
        problems: list[str] = []
        await asyncio.gather(*(_disconnect(source, problems) for source in self))
        for problem in problems:
            self._logger.warn(problem)


async def _tools_of(source: ToolSource, problems: list[str]) -> list[Tool]:
    with _failing(f"tools of {source.name} are not available", problems):
        await source.connect()
        return list((await source.get_tools()).values())
    return []


async def _disconnect(source: ToolSource, problems: list[str]) -> None:
    with _failing(f"{source.name} did not disconnect", problems):
        await source.disconnect()


@contextmanager
def _failing(problem: str, problems: list[str]) -> Iterator[None]:
    """Turn a failure into a problem with its root cause.

    Libraries with task groups may also let a cancellation out that is only theirs.
    """
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        problems.append(f"{problem}: it was cancelled from within")
    except Exception as error:
        problems.append(f"{problem}: {exception_text(error)}")
