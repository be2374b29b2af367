"""The server: one protocol object per keep-alive connection, faults, counters."""

# mypy: disable-error-code="import-not-found"

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httptools
import orjson

from . import anthropic, chat, responses
from .answer import Answer, Dialect, Json, decide, encode
from .behaviour import Behaviour, parse

DIALECTS: dict[str, Dialect] = {
    "v1/chat/completions": chat,
    "v1/responses": responses,
    "v1/messages": anthropic,
}
JSON_HEAD = b"content-type: application/json\r\nx-request-id: req_mock\r\n"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"x-request-id: req_mock\r\ntransfer-encoding: chunked\r\n\r\n"
)
BROKEN_EVENT = b'data: {"id":"chatcmpl-x","choices":[{"del\n\n'
counters: dict[str, int] = {}
totals = {"requests": 0, "bytes": 0}


def reply(status: int, body: bytes, headers: bytes = b"") -> bytes:
    """Return a whole HTTP response."""
    phrase = HTTPStatus(status).phrase.encode()
    head = b"HTTP/1.1 %d %s\r\n%s%s" % (status, phrase, JSON_HEAD, headers)
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def chunked(data: bytes) -> bytes:
    """Return one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


class Connection(asyncio.Protocol):
    """One keep-alive connection; its requests are answered in order."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to parse."""
        self.transport: Any = transport
        self.parser = httptools.HttpRequestParser(self)
        self.url, self.body = b"", bytearray()
        self.waiting: list[tuple[str, bytes]] = []
        self.task: asyncio.Task[None] | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop answering."""
        if self.task:
            self.task.cancel()

    def pause_writing(self) -> None:
        """Hold a stream back."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """Let it go on."""
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        """Feed the parser, which calls the methods below."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.url, self.body = b"", bytearray()

    def on_url(self, url: bytes) -> None:
        """Collect the path."""
        self.url += url

    def on_body(self, data: bytes) -> None:
        """Collect the body."""
        self.body += data

    def on_message_complete(self) -> None:
        """Answer the request, or let it wait for the one before."""
        self.waiting.append((urlsplit(self.url.decode()).path, bytes(self.body)))
        if self.task is None:
            self.next()

    def next(self) -> None:
        """Answer the waiting requests until one of them takes time."""
        while self.waiting and self.task is None:
            path, body = self.waiting.pop(0)
            segment, _, rest = path.lstrip("/").partition("/")
            dialect = DIALECTS.get(rest)
            if dialect is None:
                self.transport.write(_of_server(path))
            else:
                self.answer(parse(segment), dialect, body)

    def answer(self, behaviour: Behaviour, dialect: Dialect, body: bytes) -> None:
        """Answer at once where nothing takes time, else in a task."""
        request, fault = orjson.loads(body), _fault(behaviour)
        totals["requests"] += 1
        totals["bytes"] += len(body)
        broken = fault == "badschema"
        decided = decide(behaviour, dialect, request, len(body), totals["requests"], broken)
        if not (behaviour.latency or fault or request.get("stream")):
            self.transport.write(reply(200, dialect.body(decided)))
            return
        self.task = asyncio.create_task(self.serve(behaviour, dialect, request, decided, fault))
        self.task.add_done_callback(self.done)

    def done(self, task: "asyncio.Task[None]") -> None:
        """Go on with the next request; a failed answer cuts the connection."""
        self.task = None
        if task.cancelled():
            return
        if task.exception():
            self.transport.abort()
        elif not self.transport.is_closing():
            self.next()

    async def serve(
        self,
        behaviour: Behaviour,
        dialect: Dialect,
        request: Json,
        decided: Answer,
        fault: str,
    ) -> None:
        """Answer after the latency, with the fault if there is one."""
        await asyncio.sleep(behaviour.latency)
        if fault == "hang":
            await asyncio.sleep(3600)
        elif fault == "reset":
            self.reset()
        elif fault.isdigit():
            headers = _retry_after(behaviour) if fault in ("429", "503") else b""
            self.transport.write(reply(int(fault), dialect.error(int(fault)), headers))
        elif request.get("stream"):
            await self.stream(behaviour, dialect, list(dialect.events(decided, request)), fault)
        else:
            self.whole(dialect.body(decided), fault)

    def reset(self) -> None:
        """Close so that the client sees a reset, not an end."""
        linger = struct.pack("ii", 1, 0)
        connected = self.transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.transport.abort()

    def whole(self, body: bytes, fault: str) -> None:
        """Write a whole reply, cut short where asked."""
        if fault == "trunc":  # fewer bytes than its head promises
            self.transport.write(reply(200, body)[: -len(body) // 2])
            self.transport.close()
        else:
            self.transport.write(reply(200, body[: len(body) // 2] if fault == "badjson" else body))

    async def stream(
        self, behaviour: Behaviour, dialect: Dialect, events: list[bytes], fault: str
    ) -> None:
        """Write events; the first text comes without delay."""
        cut = fault in ("trunc", "badjson")
        events = events[: max(2, len(events) // 2)] if cut else events
        self.transport.write(STREAM_HEAD)
        size = behaviour.events_per_write
        for start in range(0, len(events), size):
            self.transport.write(chunked(b"".join(events[start : start + size])))
            early = start < dialect.EVENTS_BEFORE_TEXT
            await asyncio.sleep(0 if early else behaviour.chunk_delay)
            await self.writable.wait()
        if fault == "trunc":
            self.transport.close()
            return
        self.transport.write(chunked(BROKEN_EVENT) if fault == "badjson" else b"")
        self.transport.write(b"0\r\n\r\n")


def _of_server(path: str) -> bytes:
    if path == "/_stats":
        return reply(200, encode(totals | {"counters": counters}))
    return reply(200, b'"ok"') if path == "/_health" else reply(404, chat.error(404))


def _fault(behaviour: Behaviour) -> str:
    if not behaviour.key:
        return behaviour.fault
    counters[behaviour.key] = seen = counters.get(behaviour.key, 0) + 1
    return behaviour.fault if behaviour.failures == 0 or seen <= behaviour.failures else ""


def _retry_after(behaviour: Behaviour) -> bytes:
    milliseconds = behaviour.retry_after_ms
    seconds = -(-milliseconds // 1000)
    return b"retry-after: %d\r\nretry-after-ms: %d\r\n" % (seconds, milliseconds)
