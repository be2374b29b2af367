"""An MCP server at the wire of streamable HTTP, as strict as the protocol, in both of its eras.

`2025-11-25` has a handshake and sessions, `2026-07-28` describes itself with every request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import httpx2

OLD, NEW = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
JSON = {"content-type": "application/json"}
URL = "http://mcp.example/mcp"

Json = dict[str, Any]
Answer = Callable[[Json], Json | httpx2.Response | Exception]


def text(words: str, **more: Any) -> Json:
    """Return a result of a tool that is one text."""
    return {"content": [{"type": "text", "text": words}], **more}


def described(name: str, **more: Any) -> Json:
    """Return a tool as `tools/list` has it."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}} | more


class FakeMcp:
    """Answers requests; `transport` leads to it. `tools` maps names to what answers calls.

    `pages` is what `tools/list` tells instead, `progress` what a tool tells before its result,
    `fault` may answer a request in the place of the server; `calls` and `seen` are what came.
    """

    def __init__(self, era: str = OLD, **tools: Answer) -> None:
        self.era = era
        self.tools: dict[str, Answer] = dict(tools)
        self.pages: list[Json] | None = None
        self.progress: dict[str, list[Json]] = {}
        self.calls: list[tuple[str, Any]] = []
        self.seen: list[str] = []  # methods, in order
        self.sessions: set[str] = set()
        self.cancelled = 0
        self.fault: Callable[[httpx2.Request], httpx2.Response | None] = lambda request: None
        self.transport = httpx2.MockTransport(self._handle)
        self._changed: list[asyncio.Queue[Json]] = []
        self._ready: set[str] = set()

    def change(self, **tools: Answer) -> None:
        """Offer other tools, and say so to those who listen."""
        self.tools = dict(tools)
        for queue in self._changed:
            queue.put_nowait({"method": "notifications/tools/list_changed", "params": {}})

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        if (response := self.fault(request)) is not None:
            return response
        if request.method == "GET":
            return self._stream(request)
        if request.method == "DELETE":
            self.sessions.discard(request.headers["mcp-session-id"])
            return httpx2.Response(200)
        accepted = request.headers["accept"]
        assert "application/json" in accepted
        assert "text/event-stream" in accepted
        message = json.loads(request.content)
        assert message["jsonrpc"] == "2.0"
        self.seen.append(message["method"])
        answer = self._old if self.era == OLD else self._new
        return answer(message, request.headers)

    def _old(self, message: Json, headers: Mapping[str, str]) -> httpx2.Response:
        session = headers.get("mcp-session-id")
        if message["method"] == "initialize":
            assert session is None
            session = f"session-{len(self.seen)}"
            self.sessions.add(session)
            result = {
                "protocolVersion": OLD,
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "fake", "version": "1"},
            }
            return self._result(message, result, {"mcp-session-id": session})
        if session is None:
            return httpx2.Response(400, text="no session")
        if session not in self.sessions:
            return httpx2.Response(404, text="unknown session")
        assert headers["mcp-protocol-version"] == OLD
        if message["method"] == "notifications/initialized":
            self._ready.add(session)
        if message["method"] == "notifications/cancelled":
            self.cancelled += 1
        if "id" not in message:
            return httpx2.Response(202)
        assert session in self._ready
        return self._answer(message)

    def _new(self, message: Json, headers: Mapping[str, str]) -> httpx2.Response:
        method, meta = message["method"], message["params"]["_meta"]
        assert meta[f"{META}protocolVersion"] == headers["mcp-protocol-version"] == NEW
        assert meta[f"{META}clientInfo"]["name"] == "agentkit"
        assert headers["mcp-method"] == method
        if method == "server/discover":
            result = {
                "supportedVersions": [NEW],
                "capabilities": {"tools": {"listChanged": True}},
                **{"resultType": "complete", "ttlMs": 0, "cacheScope": "public"},
            }
            return self._result(message, result)
        if method == "subscriptions/listen":
            return self._subscription(message)
        return self._answer(message)

    def _answer(self, message: Json) -> httpx2.Response:
        method, params = message["method"], message.get("params") or {}
        if method == "tools/list":
            return self._result(message, self._list(params.get("cursor")))
        if method != "tools/call":
            return self._error(message, -32601, "Method not found")
        self.calls.append((params["name"], params.get("arguments")))
        if params["name"] not in self.tools:
            return self._error(message, -32602, f"Unknown tool: {params['name']}")
        answer = self.tools[params["name"]](params["arguments"])
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx2.Response):
            return answer
        result = {"resultType": "complete", **answer}
        if params["name"] not in self.progress:
            return self._result(message, result)
        token = params["_meta"]["progressToken"]
        events = [
            {"method": "notifications/progress", "params": {"progressToken": token, **step}}
            for step in self.progress[params["name"]]
        ]
        return _stream_of([*events, {"id": message["id"], "result": result}])

    def _list(self, cursor: str | None) -> Json:
        cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        if self.pages is None:
            return {"tools": [described(name) for name in self.tools], **cached}
        return {**self.pages[int(cursor or 0)], **cached}

    def _result(
        self, message: Json, result: Json, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return httpx2.Response(200, headers={**JSON, **(headers or {})}, json=body)

    def _error(self, message: Json, code: int, words: str) -> httpx2.Response:
        error = {"code": code, "message": words}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _stream(self, request: httpx2.Request) -> httpx2.Response:
        if request.headers.get("mcp-session-id") not in self.sessions:
            return httpx2.Response(405)
        return self._events({})

    def _subscription(self, message: Json) -> httpx2.Response:
        meta = {f"{META}subscriptionId": message["id"]}
        acknowledged = {
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": message["params"]["notifications"]},
        }
        return self._events(meta, acknowledged)

    def _events(self, meta: Json, *first: Json) -> httpx2.Response:
        queue: asyncio.Queue[Json] = asyncio.Queue()
        self._changed.append(queue)
        return _stream_of(first, queue, meta)


def hanging(arguments: Json) -> httpx2.Response:
    """Answer a call with a stream on which nothing ever comes."""
    return _stream_of((), asyncio.Queue())


def _stream_of(
    first: Iterable[Json], later: asyncio.Queue[Json] | None = None, meta: Json | None = None
) -> httpx2.Response:
    stream = _Events(list(first), later, meta)
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)


class _Events(httpx2.AsyncByteStream):
    """A stream of messages; with `later` it has no end."""

    def __init__(
        self, first: list[Json], later: asyncio.Queue[Json] | None, meta: Json | None
    ) -> None:
        self._first = first
        self._later = later
        self._meta = meta

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self._first:
            yield self._form(event)
        while self._later is not None:
            yield self._form(await self._later.get())

    def _form(self, event: Json) -> bytes:
        if self._meta is not None:
            event = {**event, "params": {**event["params"], "_meta": self._meta}}
        return f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **event})}\n\n".encode()
