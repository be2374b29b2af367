"""A command line to be started as a process of its own. Said `wait`, its agent never ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator

from agentkit.agent.agent import Agent
from agentkit.cli import run
from agentkit.llm.events import TextDelta, ThinkingDelta
from agentkit.llm.provider import Request
from agentkit.llm.providers.offline import EchoProvider
from agentkit.llm.requester import create_llm_requester
from agentkit.messages import Message, Reply
from agentkit.observability.run_context import RunContext
from agentkit.session.sqlite_store import SqliteSessionStore
from agentkit.tests.cli.commands import ECHO, PROG, STORE, TOOLS

LONG = "x" * 200_000


class SlowProvider(EchoProvider):
    """Echoes, but begins an answer to `wait` and never ends it; `long` gets a long one."""

    async def stream(
        self, request: Request
    ) -> AsyncGenerator[TextDelta | ThinkingDelta | Reply, None]:
        """Yield the answer's beginning, or all of it."""
        said = request.messages[-1].text
        if said == "wait":
            yield TextDelta("Well, ")
            await asyncio.Event().wait()
        async for event in super().stream(request):
            if said == "long" and isinstance(event, Reply):
                event = Reply(Message.assistant(LONG), "stop", event.usage, "echo")
            yield event


def build_agent(model: str | None = None, ctx: RunContext | None = None) -> Agent:
    """Build the agent; its model is always the slow one."""
    assert ctx is not None
    llm = create_llm_requester(ECHO, ctx.logger, None, ctx, provider=SlowProvider())
    return Agent(llm, ctx=ctx, tools=TOOLS, store=SqliteSessionStore(STORE))


def take_terminal() -> None:
    """Make the terminal on stdin this process's own, so that its Ctrl-C arrives here."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    if sys.stdin.isatty():
        take_terminal()
    run(build_agent, prog=PROG)
