"""Tests of turns and those who watch: slow, gone, or only patient."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from fastapi import FastAPI

from ...llm.events import Event, TextDelta
from ...observability.run_context import RunContext
from ...server import ServerSettings
from ...server.turns import UNREAD, Turn
from .serving import Gate, call, running, scripted, serving


async def test_a_slow_reader_holds_the_agent_up() -> None:
    """However much the agent has to say, little of it waits in memory."""
    said = 0

    async def talk() -> AsyncGenerator[Event, None]:
        nonlocal said
        while True:
            said += 1
            yield TextDelta("word")

    turn = Turn(talk())
    for _ in range(100):
        await asyncio.sleep(0)
    await turn.end()
    assert said == UNREAD + 1


async def ask(app: FastAPI, path: str, gate: Gate, send: Any) -> None:
    """Ask as an HTTP server would, and go away as soon as the tool waits."""
    body = json.dumps({"input": "Hold"}).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await gate.entered.wait()
        return {"type": "http.disconnect"}

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"} | {
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8000),
    }
    await app(scope, receive, send)


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_who_goes_away_ends_the_turn(path: str, ctx: RunContext) -> None:
    """The model's call and the tools are cancelled, and the place is free again."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), tools=[gate.tool()])

    async def send(message: Any) -> None:
        pass

    async with running(agent, ServerSettings(turns_at_once=1)) as app:
        await ask(app, path, gate, send)
        assert gate.cancelled.is_set()
        assert app.state.service._turns == set()


@pytest.mark.virtual_time
async def test_who_does_not_read_ends_the_turn(ctx: RunContext) -> None:
    """A client that leaves its stream unread for long is as good as gone."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), tools=[gate.tool()])
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if b"tool_started" in sent[-1]:
            await asyncio.Event().wait()

    never = Gate()
    async with running(agent) as app:
        await ask(app, "/chat/stream", never, send)
    assert gate.cancelled.is_set()
    assert b"[DONE]" not in b"".join(sent)


@pytest.mark.virtual_time
async def test_a_quiet_stream_is_kept_alive(ctx: RunContext) -> None:
    """Comments tell proxies and clients that there is somebody."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), "Done.", tools=[gate.tool()])
    asyncio.get_running_loop().call_later(40, gate.opened.set)
    async with serving(agent) as http:
        response = await http.post("/chat/stream", json={"input": "Hold"})
    assert response.text.count(": ping\n") == 2
    assert "Done." in response.text
