"""Tools that are not the agent's own: where they come from, and what happens when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
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


async def connect_all(
    sources: Sequence[ToolSource], own: Sequence[Tool], logger: Logger
) -> ToolRegistry:
    """Connect all sources at once and return a registry with the agent's own tools and theirs.

    A source that fails costs its tools and one warning that names it and the root cause; so does
    a tool whose name is taken.
    """
    registry = ToolRegistry(own)
    found = await asyncio.gather(*(_tools_of(source, logger) for source in sources))
    for source, tools in zip(sources, found, strict=True):
        for tool in tools:
            try:
                registry.register(tool)
            except ConfigError as error:
                logger.warn(f"a tool of {source.name} is left out: {error}")
    return registry


async def disconnect_all(sources: Sequence[ToolSource], logger: Logger) -> None:
    """Disconnect all sources; one that fails costs a warning."""
    for source in sources:
        with _failing(f"{source.name} did not disconnect", logger):
            await source.disconnect()


async def _tools_of(source: ToolSource, logger: Logger) -> list[Tool]:
    with _failing(f"tools of {source.name} are not available", logger):
        await source.connect()
        return list((await source.get_tools()).values())
    return []


@contextmanager
def _failing(problem: str, logger: Logger) -> Iterator[None]:
    """Turn a failure into a warning with its root cause.

    Libraries with task groups may also let a cancellation out that is only theirs.
    """
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        logger.warn(f"{problem}: it was cancelled from within")
    except Exception as error:
        logger.warn(f"{problem}: {exception_text(error)}")
