"""`tools`: what the agent can do, and what it should be able to but cannot."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable

from rich.table import Table

from ..agent.agent import Agent
from ..agent.tool_sources import ToolSource
from ..errors import ConfigError
from ..tools.registry import ToolRegistry
from ..tools.tool import Tool
from .conversation import Setup, close_agent, open_conversation
from .failures import error_line
from .live_view import LiveView
from .tables import add_row, new_table, print_table
from .terminal import complain, note

OFFLINE = "chat://offline/echo"  # to look at an agent's tools no key is needed


def list_tools(setup: Setup) -> None:
    """Print the agent's tools on stdout, and what failed to load on stderr."""
    agent = open_conversation(dataclasses.replace(setup, model=OFFLINE), None, LiveView()).agent
    asyncio.run(_list(agent))


async def _list(agent: Agent) -> None:
    table = new_table("tool", "from", "approval", "description", shrinks=("from", "description"))
    registry = ToolRegistry(agent.tools.schemas())
    for tool in agent.tools.schemas():
        _add_row(table, tool, _module(tool))
    try:
        for source in agent._sources:
            for tool in await _load(source, registry):
                _add_row(table, tool, source.name)
    finally:
        await close_agent(agent)
    if table.row_count:
        print_table(table)
    else:
        note("the agent has no tools")


async def _load(source: ToolSource, registry: ToolRegistry) -> Iterable[Tool]:
    """Return the tools of a source that can be registered; say what is wrong with the rest."""
    try:
        await source.connect()
        tools = await source.get_tools()
    except Exception as error:
        complain(f"{source.name} failed to load: {error_line(error)}")
        return []
    loaded = []
    for tool in tools.values():
        try:
            registry.register(tool)
            loaded.append(tool)
        except ConfigError as error:
            complain(f"a tool of {source.name} is left out: {error}")
    return loaded


def _add_row(table: Table, tool: Tool, origin: str) -> None:
    asks = "per call" if callable(tool.needs_approval) else "yes" if tool.needs_approval else "no"
    lines = tool.description.strip().splitlines()
    add_row(table, tool.name, origin, asks, lines[0] if lines else "")


def _module(tool: Tool) -> str:
    """Return the module of the function that `@tool` wrapped, or of the tool's own `execute`."""
    function = getattr(tool.execute, "function", tool.execute)
    return str(getattr(function, "__module__", type(function).__module__))
