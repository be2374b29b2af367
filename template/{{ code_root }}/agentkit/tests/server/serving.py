"""What the tests of the server share: agents to serve, clients, and how to read a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from fastapi import FastAPI

from ...agent.agent import Agent
from ...errors import ToolError
from ...llm.provider import Provider
from ...llm.providers.offline import ScriptedProvider
from ...llm.requester import create_llm_requester
from ...messages import Message, ToolCall
from ...observability.run_context import RunContext
from ...retry import Backoff
from ...server import ServerSettings, create_app
from ...session.store import SessionStore
from ...tools.tool import Tool, ToolContext, tool

ECHO = "chat://offline/echo"
TOKENS = {"trusted-0123456789": None, "alice-0123456789": "alice", "bob-0123456789": "bob"}
Data = dict[str, Any]


@tool
async def shout(text: str) -> str:
    """Say it louder."""
    if text == "nothing":
        raise ToolError("there is nothing to shout")
    return text.upper()


@tool(needs_approval=True)
async def remove(path: str) -> str:
    """Remove a file."""
    return f"removed {path}"


@tool
async def who(ctx: ToolContext) -> str:
    """Say who asks."""
    return str(ctx.user_id)


class Gate:
    """A tool that waits until the test lets it go on, and tells what became of it."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()

    def tool(self) -> Tool:
        @tool(name="hold")
        async def hold() -> str:
            """Wait."""
            self.entered.set()
            try:
                await self.opened.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "open"

        return hold


def call(name: str, id: str = "c1", **arguments: Any) -> Message:
    """Return a reply that calls a tool."""
    return Message("assistant", (ToolCall(id, name, arguments),))


def scripted(
    ctx: RunContext,
    *replies: str | Message | Exception,
    tools: Sequence[Tool] = (shout, remove, who),
    store: SessionStore | None = None,
) -> Agent:
    """Return an agent whose model answers from a script."""
    return provided(ctx, ScriptedProvider(replies), tools, store)


def provided(
    ctx: RunContext,
    provider: Provider,
    tools: Sequence[Tool] = (),
    store: SessionStore | None = None,
) -> Agent:
    """Return an agent over a provider, which does not wait between attempts."""
    backoff = Backoff(sleep=lambda seconds: asyncio.sleep(0))
    llm = create_llm_requester(ECHO, ctx.logger, None, ctx, provider=provider, backoff=backoff)
    return Agent(llm, ctx=ctx, tools=tools, store=store)


@asynccontextmanager
async def running(agent: Agent, settings: ServerSettings | None = None) -> AsyncIterator[FastAPI]:
    """Yield the application, started, as an HTTP server would have it."""
    app = create_app(agent, settings or ServerSettings())
    async with app.router.lifespan_context(app):
        yield app


def client(app: FastAPI, token: str | None = None, **headers: str) -> httpx2.AsyncClient:
    """Return a client on this machine."""
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    transport = httpx2.ASGITransport(app)
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@asynccontextmanager
async def serving(
    agent: Agent, settings: ServerSettings | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client of a served agent."""
    async with running(agent, settings) as app, client(app) as http:
        yield http


def lines(response: httpx2.Response) -> list[str]:
    """Return the data lines of a whole stream."""
    return [text[6:] for text in response.text.splitlines() if text.startswith("data: ")]


def events(response: httpx2.Response) -> list[Data]:
    """Return the events of a whole stream, which must have ended as it should."""
    *data, done = lines(response)
    assert done == "[DONE]"
    return [json.loads(text) for text in data]


async def said(http: httpx2.AsyncClient, text: str, **more: Any) -> Data:
    """Say something and return the reply."""
    response = await http.post("/chat", json={"input": text, **more})
    assert response.status_code == 200, response.text
    reply: Data = response.json()
    return reply


def problem(response: httpx2.Response) -> tuple[int, str]:
    """Return status and type of an error, which must be JSON and say something."""
    error = response.json()["error"]
    assert error["message"]
    return response.status_code, error["type"]
