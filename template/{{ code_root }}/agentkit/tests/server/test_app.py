"""Tests of the application as a whole: its health, errors, description, start and end."""

from __future__ import annotations

import asyncio
import io
import signal
from typing import Any

import pytest

from ...agent.agent import Agent
from ...errors import ConfigError, StoreError
from ...observability.run_context import RunContext
from ...server import ServerSettings, create_app
from ...session.store import MemorySessionStore, Rows
from .serving import (
    ECHO,
    TOKENS,
    Gate,
    call,
    client,
    events,
    problem,
    running,
    said,
    scripted,
    serving,
)


class BrokenStore(MemorySessionStore):
    """A store that fails in a way that agentkit knows, or in one that it does not."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.closed = False

    async def load(self, id: str, after: int = 0) -> Rows:
        raise self.error

    async def aclose(self) -> None:
        self.closed = True


async def test_health_needs_no_token(ctx: RunContext) -> None:
    """Who watches over the process has none."""
    async with running(scripted(ctx), ServerSettings(TOKENS)) as app, client(app) as http:
        assert (await http.get("/healthz")).json() == {"status": "ok"}
        assert (await http.get("/readyz")).json() == {"status": "ready"}


async def test_a_server_without_its_store_is_not_ready(ctx: RunContext, log: io.StringIO) -> None:
    """It lives, but turns and lists fail with an error that says so and names no file."""
    store = BrokenStore(StoreError("/data/sessions.db: disk full"))
    async with serving(scripted(ctx, store=store)) as http:
        assert (await http.get("/healthz")).status_code == 200
        assert problem(await http.get("/readyz")) == (503, "store_unavailable")
        failed = await http.post("/chat", json={"input": "Hi"})
        streamed = await http.post("/chat/stream", json={"input": "Hi"})
    assert problem(failed) == (503, "store_unavailable")
    assert events(streamed)[-1]["error"]["type"] == "store_unavailable"
    assert "/data" not in failed.text + streamed.text
    assert log.getvalue().count("the session store failed: StoreError: /data/sessions.db") == 2
    assert failed.headers["retry-after"] == "1"


@pytest.mark.checklist("secrets")
async def test_what_nobody_foresaw_is_logged_and_not_told(
    ctx: RunContext, log: io.StringIO
) -> None:
    """The client gets a JSON error without details, the log a traceback."""
    agent = scripted(ctx, store=BrokenStore(RuntimeError("password in /etc/passwd")))
    async with serving(agent) as http:
        response = await http.get("/sessions/s1")
        streamed = await http.post("/chat/stream", json={"input": "Hi"})
    assert problem(response) == (500, "internal_error")
    assert events(streamed)[-1]["error"]["type"] == "internal_error"
    assert "passwd" not in response.text + streamed.text
    assert log.getvalue().count("RuntimeError") >= 2


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "not_found")),
        ("PUT", "/chat", (405, "method_not_allowed")),
        ("GET", "/sessions/..%2f", (404, "not_found")),
        ("GET", "/sessions?limit=0", (422, "invalid_request")),
    ],
)
async def test_every_error_is_json(
    method: str, path: str, expected: tuple[int, str], ctx: RunContext
) -> None:
    """Also those that the framework makes."""
    async with serving(scripted(ctx)) as http:
        assert problem(await http.request(method, path)) == expected


async def test_the_description_tells_errors_and_whether_tokens_are_needed(
    ctx: RunContext,
) -> None:
    """OpenAPI has every path, the shape of errors, and the bearer scheme where it is asked for."""
    async with serving(scripted(ctx)) as http:
        free = (await http.get("/openapi.json")).json()
    async with running(scripted(ctx), ServerSettings(TOKENS)) as app, client(app) as http:
        guarded = (await http.get("/openapi.json")).json()
    assert {"/chat", "/chat/stream", "/approvals", "/sessions/{session_id}"} <= set(free["paths"])
    answer = free["paths"]["/chat"]["post"]["responses"]["429"]
    assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/ProblemReply")
    assert "securitySchemes" not in free["components"]
    assert guarded["paths"]["/chat"]["post"]["security"] == [{"HTTPBearer": []}]


async def test_what_was_built_is_closed_and_what_was_given_is_not(ctx: RunContext) -> None:
    """An agent may be used elsewhere; one that was built for the server is not."""
    given, built = BrokenStore(StoreError("")), BrokenStore(StoreError(""))
    for agent in (Agent(ECHO, ctx=ctx, store=given), lambda: Agent(ECHO, ctx=ctx, store=built)):
        app = create_app(agent, ServerSettings())
        async with app.router.lifespan_context(app):
            pass
    assert (given.closed, built.closed) == (False, True)


def test_what_is_no_agent_is_refused() -> None:
    """One line says what build_agent returned."""
    builds: Any = lambda: None  # noqa: E731
    with pytest.raises(ConfigError, match="build_agent returned NoneType"):
        create_app(builds, ServerSettings())


@pytest.mark.parametrize("path", ["/chat", "/chat/stream"])
async def test_a_shutdown_stops_what_does_not_end(path: str, ctx: RunContext) -> None:
    """After the grace period the turn is cancelled, its client told, and nobody let in."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), tools=[gate.tool()])
    async with running(agent, ServerSettings(grace=0.0)) as app, client(app) as http:
        turn = asyncio.create_task(http.post(path, json={"input": "Hold"}))
        await gate.entered.wait()
        app.state.service.stop()
        response = await turn
        late = await http.post("/chat", json={"input": "Hi"})
        ready = await http.get("/readyz")
    assert gate.cancelled.is_set()
    error = response.json() if path == "/chat" else events(response)[-1]
    assert error["error"]["type"] == "shutting_down"
    assert problem(late) == problem(ready) == (503, "shutting_down")


async def test_a_shutdown_lets_turns_end(ctx: RunContext) -> None:
    """Within the grace period they go on."""
    gate = Gate()
    agent = scripted(ctx, call("hold"), "Done.", tools=[gate.tool()])
    async with running(agent) as app, client(app) as http:
        turn = asyncio.create_task(said(http, "Hold"))
        await gate.entered.wait()
        app.state.service.stop()
        gate.opened.set()
        assert (await turn)["text"] == "Done."


async def test_the_signal_to_end_is_heard(ctx: RunContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server learns of it at once; whoever handled it before still does, also afterwards."""
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        async with running(scripted(ctx)) as app:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
            assert app.state.service.stopping
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM, signal.SIGTERM]
