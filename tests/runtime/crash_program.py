"""A process that is killed in the middle of a run, once for each place given, by `kill -9`.

    python -m runtime.crash_program FOLDER PLACE...

Each death leaves `FOLDER/PLACE/sessions.db` and a debug directory. One process imports everything
and forks for each place, since starting Python anew is what costs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from agentkit.agent.agent import Agent
from agentkit.llm.provider import Request
from agentkit.llm.providers.offline import ScriptedProvider
from agentkit.llm.requester import create_llm_requester
from agentkit.messages import Message, Reply, Text, ToolCall
from agentkit.observability.records import Record, ToolFinished
from agentkit.observability.run_context import create_run_context
from agentkit.session.compactor import SimpleHistoryCompactor
from agentkit.session.sqlite_store import SqliteSessionStore
from agentkit.session.store import Row
from agentkit.tools.tool import Tool, tool

BUDGET = 500  # symbols: the second turn drops the first one
CALL = Message("assistant", (Text("Let me see"), ToolCall("c1", "work", {"word": "x"})))


class Death:
    """Kills this process when it reaches a place: `call 2`, `during append 3`, `tool`, …"""

    def __init__(self, place: str) -> None:
        self._place = place

    def reach(self, place: str) -> None:
        if place == self._place:
            os.kill(os.getpid(), signal.SIGKILL)

    def observe(self, record: Record) -> None:
        if isinstance(record, ToolFinished):
            self.reach("tool finished")


class Provider(ScriptedProvider):
    """Answers from a script, unless the process dies first."""

    def __init__(self, death: Death) -> None:
        super().__init__(["one", CALL, "done"])
        self._death = death

    async def complete(self, request: Request) -> Reply:
        self._death.reach(f"call {len(self.requests) + 1}")
        return await super().complete(request)


class Store(SqliteSessionStore):
    """A store in a file, in which the process may die while a row is on its way to the disk."""

    def __init__(self, path: Path, death: Death) -> None:
        super().__init__(path)
        self._death = death
        self._appends = 0

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        self._appends += 1
        writing = asyncio.ensure_future(super().append(id, rows, at, user_id))
        await asyncio.sleep(0)
        self._death.reach(f"during append {self._appends}")
        await writing
        self._death.reach(f"after append {self._appends}")


def work_tool(death: Death) -> Tool:
    """Return the tool in which the process may die."""

    @tool
    async def work(word: str) -> str:
        """Work."""
        death.reach("tool")
        return f"worked on {word}"

    return work


async def talk(place: str, folder: Path) -> None:
    """Hold a conversation of two turns; the second one uses a tool and drops the first."""
    death = Death(place)
    ctx = create_run_context(debug_dir=folder / "debug", run_id="run", observers=[death.observe])
    llm = create_llm_requester("chat://offline/echo", ctx=ctx, provider=Provider(death))
    agent = Agent(
        llm,
        compactor=SimpleHistoryCompactor(BUDGET),
        tools=[work_tool(death)],
        store=Store(folder / "sessions.db", death),
    )
    await agent.run("x" * BUDGET, "s")
    await agent.run("What is it?", "s")


def main(folder: Path, places: Sequence[str]) -> None:
    """Die at each place; exit with a message if one was never reached."""
    for place in places:
        child = os.fork()
        if child == 0:
            asyncio.run(talk(place, folder / place))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"nobody died at {place!r}: status {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
