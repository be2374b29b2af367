"""A scripted HTTP server without a network; the fakes of the providers' APIs are built on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import httpx2
import pytest

from .chat_replies import Answer, Fault, Json, Reply, Sse, Status
from .message_rules import Refused

PIECE = 61  # bytes per read: neither events nor characters end where reads end
HANG = 86_400.0  # seconds: longer than any deadline


class Api(Protocol):
    """What an API refuses, and how an answer looks on its wire. `number` counts requests from 1.

    A stream is asked for by `"stream": true` in the body.
    """

    def read(self, request: httpx2.Request) -> dict[str, Any]:
        """Return the parsed body; raises `Refused` for what is wrong with it as HTTP or JSON."""
        ...

    def check(self, body: Json) -> None:
        """Raise `Refused` if the API would not accept this request."""
        ...

    def whole(self, answer: Answer, request: Json, number: int) -> bytes:
        """Return an answer as the body of a response that is no stream."""
        ...

    def beginning(self, answer: Answer, request: Json, number: int) -> bytes:
        """Return a stream's events up to the last piece of what the model says."""
        ...

    def ending(self, answer: Answer, request: Json, number: int) -> bytes:
        """Return the events that end a stream."""
        ...


class FakeServer:
    """A scripted server; `requests`, `headers`, `urls` and `bodies` hold what reached it, in order.

    Replies are consumed in order, in the form (stream or not) that each request asks for. A request
    that the API would refuse gets its 400 and consumes nothing. The test fails when a request comes
    without a scripted reply, when replies are left, when a request was refused that the test did
    not announce (`refusals=`), or when a response was not closed. `refused` holds the messages of
    its own 400s, `open` the number of responses not closed yet.
    """

    def __init__(self, replies: Sequence[Reply], api: Api, refusals: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[httpx2.Headers] = []
        self.urls: list[str] = []
        self.bodies: list[bytes] = []
        self.refused: list[str] = []
        self.open = 0
        self.transport = httpx2.MockTransport(self.handler)
        self._replies = list(replies)
        self._api = api
        self._refusals = refusals
        self._unscripted = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and (problem := self._problem()):
            pytest.fail(problem)

    def _problem(self) -> str | None:
        if self._unscripted:
            return f"{self._unscripted} more requests came than replies were scripted"
        if len(self.refused) != self._refusals:
            return f"{self._refusals} refusals announced, but the server refused: {self.refused}"
        if self._replies:
            return f"{len(self._replies)} replies were never asked for: {self._replies}"
        if self.open:
            return f"{self.open} responses were not closed"
        return None

    async def handler(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, as `httpx2.MockTransport` wants it."""
        self.headers.append(request.headers)
        self.urls.append(str(request.url))
        self.bodies.append(request.content)
        try:
            self.requests.append(self._api.read(request))
            self._api.check(self.requests[-1])
        except Refused as refused:
            self.refused.append(str(refused))
            return httpx2.Response(refused.status, json=refused.body)
        if not self._replies:
            self._unscripted += 1
            pytest.fail(f"unscripted request {len(self.bodies)}: {request.content.decode()[:500]}")
        return await self._respond(self._replies.pop(0), self.requests[-1])

    async def _respond(self, reply: Reply, request: Json) -> httpx2.Response:
        match reply:
            case str():
                return self._answer(Answer(reply), request)
            case Answer():
                return self._answer(reply, request)
            case Fault():
                return await self._fail(reply, request)
            case Status():
                return self._send(reply.body, reply.headers, reply.code)
            case Sse():
                return self._send(reply.body, _type(stream=True))
            case bytes():
                return self._send(reply, _type(stream=bool(request.get("stream"))))
            case Mapping():
                return self._send(json.dumps(reply).encode(), _type(stream=False))
            case Exception():
                raise reply
        raise reply("scripted failure")

    async def _fail(self, fault: Fault, request: Json) -> httpx2.Response:
        if fault.kind == "reset":
            raise httpx2.ReadError("connection reset by peer")
        if fault.kind == "hang":
            await asyncio.sleep(HANG)
            pytest.fail("nobody gave up on a server that hangs")
        headers = _type(stream=bool(request.get("stream")))
        if fault.kind == "drip":
            return self._send(self._body(fault.answer, request), headers, delay=fault.seconds)
        if fault.kind == "reset_later":
            return self._send(b"", headers, end=httpx2.ReadError("connection reset by peer"))
        content = self._spoiled(fault, request)
        if fault.kind == "cut":
            end = httpx2.RemoteProtocolError("peer closed connection before the body was complete")
            return self._send(content, headers, end=end)
        return self._send(content, headers)

    def _spoiled(self, fault: Fault, request: Json) -> bytes:
        error = json.dumps(fault.error).encode() if fault.error else b""
        if not request.get("stream"):
            whole = self._body(fault.answer, request)
            return error or whole[: len(whole) // 2]
        begun = self._api.beginning(fault.answer, request, len(self.bodies))
        if fault.kind == "malformed":
            return begun + b'data: {"choices":[{"delta\n\n'
        return begun + b"data: " + error + b"\n\n" if error else begun

    def _answer(self, reply: Answer, request: Json) -> httpx2.Response:
        return self._send(self._body(reply, request), _type(stream=bool(request.get("stream"))))

    def _body(self, reply: Answer, request: Json) -> bytes:
        api, number = self._api, len(self.bodies)
        if not request.get("stream"):
            return api.whole(reply, request, number)
        return api.beginning(reply, request, number) + api.ending(reply, request, number)

    def _send(
        self,
        content: bytes,
        headers: Mapping[str, str],
        code: int = 200,
        *,
        delay: float = 0.0,
        end: Exception | None = None,
    ) -> httpx2.Response:
        self.open += 1
        body = _Body(content, self, delay, end)
        return httpx2.Response(code, headers={"x-request-id": "req_fake", **headers}, stream=body)


class _Body(httpx2.AsyncByteStream):
    """A response's bytes as a network delivers them; `end` is how the connection breaks, if so."""

    def __init__(
        self, content: bytes, fake: FakeServer, delay: float, end: Exception | None
    ) -> None:
        self._content = content
        self._fake: FakeServer | None = fake
        self._delay = delay
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 1 if self._delay else max(PIECE, len(self._content) // 100)
        for start in range(0, len(self._content), size):
            await asyncio.sleep(self._delay)
            yield self._content[start : start + size]
        if self._end is not None:
            raise self._end

    async def aclose(self) -> None:
        if self._fake is not None:
            self._fake.open -= 1
            self._fake = None


def _type(*, stream: bool) -> dict[str, str]:
    return {"content-type": "text/event-stream; charset=utf-8" if stream else "application/json"}
