"""Tests of `tools`."""

from __future__ import annotations

import re
from typing import Any

from ...agent.agent import Agent
from ...observability.run_context import RunContext
from ...tools.tool import Tool, ToolContext, tool
from .commands import TOOLS, echo_agent, invoke, only_line, scripted, shout
from .commands import __name__ as COMMANDS


class Source:
    """A source of tools; `error` is what connecting to it raises."""

    def __init__(self, name: str, *tools: Tool, error: Exception | None = None) -> None:
        self.name = name
        self.connected = False
        self._tools = tools
        self._error = error

    async def connect(self) -> None:
        if self._error:
            raise self._error
        self.connected = True

    async def disconnect(self) -> None:
        self.connected = False

    async def get_tools(self) -> dict[str, Tool]:
        return {found.name: found for found in self._tools}


@tool(needs_approval=lambda call: True)
def look(place: str) -> str:
    """Look [bold]around[/bold].\x1b[2J"""
    return place


def table(text: str) -> list[list[str]]:
    """Return the rows of the table, cell by cell."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()[1:]]


def test_tools_are_listed_with_what_matters() -> None:
    """Name, module of the function, approval and the description's first line are shown."""
    result = invoke(echo_agent, "tools")
    assert (result.exit_code, result.stderr) == (0, "")
    assert table(result.stdout) == [
        ["shout", COMMANDS, "no", "Say it louder."],
        ["remove", COMMANDS, "yes", "Remove a file."],
    ]


def test_tools_of_a_source_name_the_source() -> None:
    """A tool that comes from elsewhere says where from; the source is let go at the end."""
    source = Source("weather", look)
    result = invoke(scripted(tools=(), sources=[source]), "tools")
    assert table(result.stdout) == [["look", "weather", "per call", "Look [bold]around[/bold]."]]
    assert not source.connected


def test_a_source_that_fails_is_named_and_costs_only_its_tools() -> None:
    """What failed to load is told on stderr; the rest is listed."""
    broken = Source("weather", look, error=OSError(2, "No such file", "weather-server"))
    result = invoke(scripted(sources=[broken, Source("maps", look)]), "tools")
    assert result.exit_code == 0
    line = only_line(result.stderr)
    assert line == "error: weather failed to load: weather-server: No such file"
    assert [row[0] for row in table(result.stdout)] == ["shout", "remove", "look"]


def test_a_tool_whose_name_is_taken_is_told() -> None:
    """Of two tools with one name the second is left out, as in a conversation."""
    result = invoke(scripted(sources=[Source("maps", shout)]), "tools")
    assert "a tool of maps is left out: two tools are named 'shout'" in only_line(result.stderr)
    assert len(table(result.stdout)) == len(TOOLS)


def test_a_tool_with_a_schema_of_its_own_names_its_module() -> None:
    """A tool that was made without the decorator is listed like the others."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> Any:
        return arguments

    made = Tool("made", "", {}, execute)
    result = invoke(scripted(tools=[made]), "tools")
    assert table(result.stdout) == [["made", __name__, "no"]]


def test_no_key_is_needed_to_look_at_tools() -> None:
    """The model of the agent's own may lack its key."""

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        return Agent(model or "chat://openai/gpt-5-mini", ctx=ctx, tools=TOOLS)

    assert invoke(build, "tools").exit_code == 0


def test_an_agent_without_tools_says_so() -> None:
    """Nothing is listed as nothing."""
    result = invoke(scripted(tools=()), "tools")
    assert (result.stdout, result.stderr) == ("", "the agent has no tools\n")


def test_tools_leave_no_run() -> None:
    """Looking is not running: `runs` stays as it was."""
    invoke(echo_agent, "tools")
    assert "no runs" in invoke(echo_agent, "runs").stderr
