"""MCP servers that cannot be reached, refuse, hang or break off."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from ...agent.agent import Agent
from ...observability.logger import Logger
from ...observability.run_context import RunContext
from ...tools.mcp_client import McpClient, McpServerError
from .fake_mcp import NEW, OLD, URL, FakeMcp, text
from .test_mcp_client import call, client, connected

pytestmark = pytest.mark.virtual_time
KEY = "canary-123456"


def refuse(request: httpx2.Request) -> httpx2.Response:
    """Refuse every connection."""
    raise httpx2.ConnectError(f"cannot connect to {request.url}")


async def hang(request: httpx2.Request) -> httpx2.Response:
    """Take a request and never answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def problem_of(transport: httpx2.AsyncBaseTransport, logger: Logger, **options: Any) -> str:
    """Return why connecting fails."""
    config = {"type": "http", "url": f"{URL}?key={KEY}", "headers": {"X-Key": KEY}}
    mcp = McpClient(config, logger, "srv", transport=transport, **options)
    with pytest.raises(McpServerError) as caught:
        await mcp.connect()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    await mcp.disconnect()
    return str(caught.value)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (lambda: httpx2.Response(401, json={"error": "invalid_token"}), "HTTP 401 Unauthorized: "),
        (lambda: httpx2.Response(500, text="boom"), "HTTP 500 Internal Server Error: boom"),
        (lambda: httpx2.Response(404), "HTTP 404 Not Found"),
        (lambda: httpx2.Response(200, html="<html>"), "Unexpected content type: text/html"),
        (lambda: httpx2.Response(200, json=[1]), "Failed to parse JSON response"),
        (lambda: httpx2.Response(302, headers={"location": "https://b/"}), "Redirect to https://b"),
    ],
)
async def test_what_a_server_answers_is_told_as_the_cause(
    response: Any, problem: str, logger: Logger
) -> None:
    """The status and the first words, in one line."""
    told = await problem_of(httpx2.MockTransport(lambda request: response()), logger)
    assert told.startswith(f"MCP server srv: {problem}")


@pytest.mark.checklist("secrets")
async def test_no_key_is_in_an_error_or_a_log(logger: Logger, log: io.StringIO) -> None:
    """Addresses and headers carry keys, and errors of libraries and servers carry addresses."""
    told = await problem_of(httpx2.MockTransport(refuse), logger)
    assert told == f"MCP server srv: ConnectError: cannot connect to {URL}?key=***"
    echo = httpx2.MockTransport(lambda request: httpx2.Response(500, text=str(request.headers)))
    assert KEY not in await problem_of(echo, logger)
    assert KEY not in log.getvalue()


async def test_a_server_that_does_not_answer_is_left_after_the_limit(logger: Logger) -> None:
    """Its connecting has a limit, whatever it is that hangs."""
    began_at = asyncio.get_running_loop().time()
    told = await problem_of(httpx2.MockTransport(hang), logger, connect_timeout=7.0)
    assert told == "MCP server srv: no answer within 7 s"
    assert asyncio.get_running_loop().time() - began_at < 8


async def test_a_server_whose_list_of_tools_fails_is_not_connected(logger: Logger) -> None:
    """Without tools it is of no use, and the cause is what it said."""
    fake = FakeMcp(NEW)
    fake.fault = lambda request: (
        httpx2.Response(
            500, json={"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "db"}}
        )
        if b"tools/list" in request.content
        else None
    )
    assert await problem_of(fake.transport, logger) == "MCP server srv: db"


async def test_a_server_that_failed_just_now_is_not_asked_again_at_once(logger: Logger) -> None:
    """The same error comes at once; after a pause that grows there is a new attempt."""
    attempts: list[float] = []
    loop = asyncio.get_running_loop()

    def count(request: httpx2.Request) -> httpx2.Response:
        if b"server/discover" in request.content:
            attempts.append(loop.time())
        return refuse(request)

    mcp = client(FakeMcp(), logger)
    mcp._transport = httpx2.MockTransport(count)
    while loop.time() < 9.9:
        with pytest.raises(McpServerError, match="ConnectError"):
            await mcp.connect()
        await asyncio.sleep(0.1)
    assert len(attempts) == 4
    assert attempts[1] - attempts[0] >= 1
    assert attempts[2] - attempts[1] >= 2
    assert attempts[3] - attempts[2] >= 4


async def test_a_server_that_hangs_does_not_hold_up_every_run(logger: Logger) -> None:
    """After a first failure a new attempt gets a moment, and then goes on in the background."""
    mcp = client(FakeMcp(), logger, connect_timeout=20.0)
    mcp._transport = httpx2.MockTransport(hang)
    loop = asyncio.get_running_loop()
    with pytest.raises(McpServerError):
        await mcp.connect()
    await asyncio.sleep(1_000)
    for _ in range(3):
        began_at = loop.time()
        with pytest.raises(McpServerError, match="no answer within 20 s"):
            await mcp.connect()
        assert loop.time() - began_at <= 2
    await mcp.disconnect()


async def test_a_server_that_comes_back_is_found_by_the_next_run(
    logger: Logger, log: io.StringIO, ctx: RunContext
) -> None:
    """It costs its tools and one warning while it is away, however many runs there are."""
    fake = FakeMcp(OLD, echo=lambda _: text("hi"))
    fake.fault = refuse
    agent = Agent("chat://offline/echo", mcp_clients=[client(fake, logger)], ctx=ctx)
    for _ in range(3):
        await agent.run("Hello")
        await asyncio.sleep(10)
    assert log.getvalue().count("WARN") == 1
    fake.fault = lambda request: None
    await agent.run("Hello")
    assert agent._all_tools is not None
    assert agent._all_tools.get("srv__echo") is not None
    await agent.close()


async def test_connecting_can_be_given_up(logger: Logger) -> None:
    """Whoever waits learns that it was closed, and nothing is left running."""
    before = asyncio.all_tasks()
    mcp = client(FakeMcp(), logger)
    mcp._transport = httpx2.MockTransport(hang)
    waiting = asyncio.create_task(mcp.connect())
    await asyncio.sleep(1)
    await mcp.disconnect()
    with pytest.raises(McpServerError, match="it was closed"):
        await waiting
    assert asyncio.all_tasks() == before


async def test_connections_are_made_and_left_from_any_task(logger: Logger) -> None:
    """Together, in another order, and by another task than the one that made them."""
    before = asyncio.all_tasks()
    fakes = [FakeMcp(era, echo=lambda _: text("hi")) for era in (OLD, NEW, OLD)]
    clients = [client(fake, logger) for fake in fakes]
    await asyncio.gather(*(mcp.connect() for mcp in clients))
    await asyncio.create_task(clients[1].disconnect())
    await asyncio.gather(clients[0].disconnect(), clients[0].disconnect())
    assert "srv__echo" in await clients[2].get_tools()
    await clients[2].disconnect()
    assert asyncio.all_tasks() == before


async def test_a_body_without_an_end_is_left(logger: Logger, monkeypatch: Any) -> None:
    """A message has a size that it must not pass."""
    from ...tools import mcp_http

    monkeypatch.setattr(mcp_http, "LARGEST", 10_000)

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b" " * 1_000

    response = httpx2.Response(200, headers={"content-type": "application/json"}, stream=Endless())
    fake = FakeMcp(NEW, flood=lambda _: response)
    assert "more than 0 MB" in await call((await connected(fake, logger))["srv__flood"])


class Sse(httpx2.AsyncByteStream):
    """A server of the transport before 2025: answers come on a stream, not with the request."""

    def __init__(self) -> None:
        self.transport = httpx2.MockTransport(self._handle)
        self.fake = FakeMcp(OLD, echo=lambda _: text("hi"))
        self.opened = 0
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def drop(self) -> None:
        """Break the stream off."""
        self._events.put_nowait(None)

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            self.opened += 1
            self._events = asyncio.Queue()
            self._events.put_nowait(b"event: endpoint\ndata: /messages?session=1\n\n")
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=self)
        message = json.loads(request.content)
        self.fake._ready = self.fake.sessions = {"one"}
        headers = {"mcp-session-id": "one", "mcp-protocol-version": OLD}
        if message["method"] == "initialize":
            headers = {}
        response = self.fake._old(message, headers)
        if response.content:
            self._events.put_nowait(b"event: message\ndata: " + response.content + b"\n\n")
        return httpx2.Response(202)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (event := await self._events.get()) is not None:
            yield event

    async def aclose(self) -> None:
        pass


async def test_sse_servers_are_used_and_connected_again(logger: Logger) -> None:
    """A stream that ended is noticed before the next call, so that it is sent once."""
    sse = Sse()
    mcp = McpClient({"type": "sse", "url": URL}, logger, "srv", transport=sse.transport)
    await mcp.connect()
    tool = (await mcp.get_tools())["srv__echo"]
    assert "hi" in await call(tool)
    sse.drop()
    await asyncio.sleep(1)
    assert "hi" in await call(tool)
    assert len(sse.fake.calls) == 2
    assert sse.opened == 2
    await mcp.disconnect()
