"""What becomes of durable runs, gone through once for all tests: opening a database takes its time.

First some runs; then one that is cut off while a tool waits, and goes on in an agent that is opened
anew, as in another process.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path

from ...agent.agent import Agent
from ...durable import DurableAgent
from ...errors import AgentkitError, BadRequest
from ...llm.provider import Request
from ...llm.providers.offline import ScriptedProvider
from ...llm.requester import create_llm_requester
from ...llm.result import GenerateResult
from ...messages import Message, Reply, ToolCall
from ...observability.logger import Logger
from ...observability.records import Record, ToolFinished
from ...observability.run_context import create_run_context
from ...retry import Backoff
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import Rows
from ...tools.tool import Tool, ToolContext, tool

LOOK_UP = Message("assistant", (ToolCall("1", "look_up", {"word": "ubiquitous"}),))
BOTH = Message("assistant", (*LOOK_UP.parts, ToolCall("2", "wait")))
MODEL = "chat://offline/scripted?timeout=1000"  # milliseconds; only `hang` takes any time


@dataclass
class Told:
    """What came of the runs, and what the world outside saw of them."""

    results: dict[str, GenerateResult] = field(default_factory=dict)
    errors: dict[str, AgentkitError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)  # the questions that reached the model
    ran: list[str] = field(default_factory=list)  # the tools
    before: tuple[int, int] = (0, 0)  # how many of both there were before the second opening
    session: Rows = field(default_factory=list)
    logs: list[str] = field(default_factory=list)  # the names of the debug directories
    log: str = ""

    async def error(self, name: str, run: Awaitable[object]) -> None:
        """Keep the error that a run ends with."""
        try:
            await run
        except AgentkitError as error:
            self.errors[name] = error


class Model(ScriptedProvider):
    """Answers by what it is asked: with tools, an error, not at all the first time, or a text."""

    def __init__(self, told: Told) -> None:
        super().__init__(())
        self._told = told

    async def complete(self, request: Request) -> Reply:
        question = [m.text for m in request.messages if m.role == "user"][-1]
        self._told.asked.append(question)
        if question == "bad":
            raise BadRequest("no such thing", status=400)
        if question == "hang" and self._told.asked.count("hang") == 1:
            await asyncio.Event().wait()
        reply: str | Message = f"That was {question}."
        if request.messages[-1].role == "user":
            reply = {"look": LOOK_UP, "hang": BOTH}.get(question, reply)
        return await ScriptedProvider([reply]).complete(request)


def tools(told: Told, looked: asyncio.Event, waiting: asyncio.Event) -> list[Tool]:
    """Return a tool that answers, and one that never does."""

    @tool
    async def look_up(word: str, ctx: ToolContext) -> str:
        """Look a word up."""
        told.ran.append("look_up")
        return f"{word}, asked for by {ctx.user_id} in {ctx.session_id}"

    @tool
    async def wait() -> None:
        """Wait."""
        told.ran.append("wait")
        await looked.wait()
        waiting.set()
        await asyncio.Event().wait()

    return [look_up, wait]


def build(folder: Path, told: Told, log: io.StringIO, waiting: asyncio.Event) -> Agent:
    """Build the agent, as each process would."""

    async def no_sleep(seconds: float) -> None:
        await asyncio.sleep(0)

    ctx = create_run_context(Logger("test", "warn", log), folder / "debug")
    looked = asyncio.Event()  # the result of the other tool of that step is written down

    def note(record: Record) -> None:
        if isinstance(record, ToolFinished) and told.ran.count("look_up") == 2:
            looked.set()

    ctx.watch(lambda own: note)
    llm = create_llm_requester(
        MODEL, ctx=ctx, provider=Model(told), backoff=Backoff(sleep=no_sleep)
    )
    store = SqliteSessionStore(folder / "sessions.db")
    return Agent(llm, ctx=ctx, tools=tools(told, looked, waiting), store=store)


def open_runs(agent: Agent, folder: Path) -> DurableAgent:
    """Open the database of the runs; a tool that waits is not run again."""
    url = f"sqlite:///{folder / 'runs' / 'runs.db'}"
    return DurableAgent(agent, url, rerun=lambda call: call.name != "wait", poll=0.02)


async def first_process(folder: Path, told: Told, log: io.StringIO) -> None:
    """Some runs, and one that does not come to its end."""
    waiting = asyncio.Event()
    agent = build(folder, told, log, waiting)
    async with open_runs(agent, folder) as runs:
        told.results["look"] = await runs.run("look-1", "look", "s1", "ann")
        told.results["same id"] = await runs.run("look-1", "another question", "s1", "ann")
        for question in ("one", "two", "three"):
            await runs.start(f"order-{question}", question, "s2")
        for question in ("three", "two", "one"):
            told.results[question] = await runs.result(f"order-{question}")
        await told.error("bad", runs.run("bad-1", "bad"))
        await told.error("unknown", runs.result("nobody"))
        await told.error("empty", runs.start("empty-1", " "))
        await told.error("id", runs.start("../x", "one"))
        await told.error("second", open_runs(agent, folder).open())
        await runs.start("hang-1", "hang", "s3", "ann")
        await waiting.wait()
        await runs.start("late-1", "late", "s3")
        await runs.cancel("late-1")
        await told.error("cancelled", runs.result("late-1"))
    await agent.store.aclose()
    told.before = len(told.asked), len(told.ran)


async def second_process(folder: Path, told: Told, log: io.StringIO) -> None:
    """The rest of the run that was cut off."""
    agent = build(folder, told, log, asyncio.Event())
    async with open_runs(agent, folder) as runs:
        told.results["hang"] = await runs.result("hang-1")
    told.session = await agent.store.load("s3")
    await agent.store.aclose()


def go_through(folder: Path) -> Told:
    """Go through it all."""
    told, log = Told(), io.StringIO()
    asyncio.run(first_process(folder, told, log))
    asyncio.run(second_process(folder, told, log))
    told.logs = sorted(path.name for path in (folder / "debug").glob("*-*"))
    told.log = log.getvalue()
    return told
