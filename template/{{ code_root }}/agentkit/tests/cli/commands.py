"""What the tests of the command line share: agents to talk to, and how to type a command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from typer.testing import CliRunner

from ...agent.agent import Agent
from ...agent.tool_sources import ToolSource
from ...cli.app import create_app
from ...cli.conversation import BuildAgent
from ...errors import ToolError
from ...llm.providers.offline import ScriptedProvider
from ...llm.requester import create_llm_requester
from ...messages import Message
from ...observability.run_context import RunContext
from ...retry import Backoff
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import Row, SessionStore
from ...tools.tool import Tool, ToolContext, tool

ECHO = "chat://offline/echo"
PROG = "my-agent"
STORE = Path("sessions.db")


class Result:
    """What a command came to: its exit code, and what it wrote to stdout and to stderr."""

    def __init__(self, exit_code: int, stdout: str, stderr: str) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr


@tool
async def shout(text: str) -> str:
    """Say it louder.

    The second paragraph is for the model.
    """
    if text == "nothing":
        raise ToolError("there is nothing to shout")
    return text.upper()


@tool(needs_approval=True)
def remove(path: str, ctx: ToolContext) -> str:
    """Remove a file."""
    return f"removed {path}"


TOOLS = (shout, remove)


def echo_agent(model: str | None = None, ctx: RunContext | None = None) -> Agent:
    """An agent that repeats what it hears; `/shout {"text": "hi"}` calls a tool."""
    return Agent(model or ECHO, ctx=ctx, tools=TOOLS, store=SqliteSessionStore(STORE))


def scripted(
    *replies: str | Message | Exception,
    tools: Sequence[Tool] = TOOLS,
    sources: Iterable[ToolSource] = (),
    store: SessionStore | None = None,
    uri: str = ECHO,
    max_steps: int = 10,
) -> BuildAgent:
    """An agent whose model answers from a script, without waiting between attempts."""

    def build(model: str | None = None, ctx: RunContext | None = None) -> Agent:
        provider = ScriptedProvider(replies)
        backoff = Backoff(sleep=lambda seconds: asyncio.sleep(0))
        assert ctx is not None
        llm = create_llm_requester(
            model or uri, ctx.logger, None, ctx, provider=provider, backoff=backoff
        )
        return Agent(
            llm, ctx=ctx, tools=tools, mcp_clients=sources, store=store, max_steps=max_steps
        )

    return build


def invoke(
    build_agent: BuildAgent, *arguments: str, typed: str = "", charset: str = "utf-8"
) -> Result:
    """Run a command with `typed` as its standard input, on streams of an encoding."""
    runner = CliRunner(charset=charset)
    app = create_app(build_agent, PROG)
    result = runner.invoke(app, arguments, input=typed, prog_name=PROG)
    return Result(result.exit_code, result.stdout, result.stderr)


def only_line(text: str) -> str:
    """Return the text, which must be one line, without its end."""
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text[:-1]


def stored(session: str) -> list[Row]:
    """Return what the store of `echo_agent` holds of a session."""

    async def load() -> list[Row]:
        store = SqliteSessionStore(STORE)
        try:
            return await store.load(session)
        finally:
            await store.aclose()

    return asyncio.run(load())


Edit = Callable[[str], str]


def edit(path: Path, change: Edit) -> None:
    """Change the text of a file."""
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
