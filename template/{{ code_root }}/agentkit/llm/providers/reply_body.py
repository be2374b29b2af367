"""The body of a provider's response, read within limits: whatever a server sends, memory holds it.

What counts is what a body decodes to: a megabyte of gzip can stand for a gigabyte.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any

import httpx2

from ...errors import LlmError, MalformedReply
from ...texts import decode_json
from .failures import LONGEST_ERROR, no_json
from .sse import LONGEST_EVENT, EventReader

LONGEST_REPLY = 32 * 2**20  # bytes of a reply that is no stream
LONGEST_STREAM = 256 * 2**20  # bytes of all events, each of which repeats the names of its fields
SETTLING = 0.05  # seconds: less than a new connection costs

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry", b":")  # how a line of a stream begins


class ReplyBody(httpx2.AsyncByteStream):
    """Reads a response once, in one of four ways: `read`, `read_start`, `events`, or as chunks.

    All of them raise `MalformedReply` beyond their limits, except `read_start`, which stops there.
    `aclose` closes the response, and its connection unless the body was read to its end.
    """

    def __init__(self, response: httpx2.Response, provider: str) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self._response = response
        self._provider = provider
        self._chunks = self._decoded()
        self._begun = b""

    async def aclose(self) -> None:
        try:
            await self._chunks.aclose()
        finally:
            await self._response.aclose()

    async def is_stream(self) -> bool:
        """Tell whether the body is a stream of events, by how it begins rather than its type.

        Servers that know no streams answer with JSON, proxies with a page, under any type.
        """
        start = await self._start()
        if start[:1] in (b"{", b"[", b"<"):
            return False
        of_events = "event-stream" in self.headers.get("content-type", "").lower()
        return of_events or any(start.startswith(f) or f.startswith(start) for f in _FIELDS)

    async def read(self) -> bytes:
        """Return the whole body, of at most 32 MB."""
        pieces, size = [self._begun], len(self._begun)
        async for chunk in self._chunks:
            size += len(chunk)
            if size > LONGEST_REPLY:
                raise self._too_long(LONGEST_REPLY)
            pieces.append(chunk)
        return b"".join(pieces)

    async def read_start(self) -> bytes:
        """Return the first 64 kB of the body; an error says what it has to say in less."""
        start = bytearray(self._begun)
        async for chunk in self._chunks:
            start += chunk
            if len(start) >= LONGEST_ERROR:
                break
        return bytes(start[:LONGEST_ERROR])

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the data of each event: 8 MB at most of one, 256 MB of all."""
        reader = EventReader(self._provider)
        for event in reader.feed(self._begun):
            yield event
        async for chunk in self._chunks:
            for event in reader.feed(chunk):
                yield event
        for event in reader.end():
            yield event

    async def settle(self) -> None:
        """Read the end of a body after its last event, if it is there: so its connection is kept.

        What does not come at once is not waited for, nor is more than the end taken.
        """
        with suppress(TimeoutError, LlmError, httpx2.HTTPError, OSError):
            async with asyncio.timeout(SETTLING):
                await anext(self._chunks, None)

    async def as_response(self) -> httpx2.Response:
        """Return a response that holds what the body decodes to, for an SDK to read.

        Raises `MalformedReply` for a page for people: a proxy's, or that of a wrong address.
        """
        try:
            if (await self._start()).startswith(b"<"):
                raise no_json(self._provider, await self.read_start())
        except BaseException:
            await self.aclose()
            raise
        headers = self.headers.copy()
        for name in ("content-encoding", "content-length"):
            headers.pop(name, None)
        return httpx2.Response(self.status, headers=headers, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the decoded bytes, for an SDK that reads them: 8 MB at most of a stream's line."""
        in_lines = await self.is_stream()
        longest = LONGEST_EVENT if in_lines else LONGEST_REPLY
        size = len(self._begun)
        yield self._begun
        async for chunk in self._chunks:
            size += len(chunk)
            if size > longest:
                raise self._too_long(longest)
            if in_lines and (end := chunk.rfind(b"\n")) >= 0:
                size = len(chunk) - end - 1
            yield chunk

    async def _start(self) -> bytes:
        """Return what was read of the body, at least a byte unless it is empty.

        Neither a byte order mark nor blanks before it count.
        """
        while not self._begun or _BOM.startswith(self._begun):
            chunk = await anext(self._chunks, None)
            if chunk is None:
                break
            self._begun = (self._begun + chunk).removeprefix(_BOM).lstrip()
        return self._begun

    async def _decoded(self) -> AsyncGenerator[bytes, None]:
        response, left = self._response, LONGEST_STREAM
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        plain = "content-encoding" not in response.headers
        chunks = aiter(response.stream) if plain else response.aiter_bytes()
        try:
            async for chunk in chunks:
                left -= len(chunk)
                if left < 0:
                    raise self._too_long(LONGEST_STREAM)
                yield chunk
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def _too_long(self, longest: int) -> MalformedReply:
        return MalformedReply(f"{self._provider} sent a reply longer than {longest >> 20} MB")


def json_of(body: bytes, provider: str) -> Any:
    """Return the JSON value of a whole body, which is not null. Raises `MalformedReply`."""
    try:
        value = decode_json(body.removeprefix(_BOM).decode())
    except ValueError:
        value = None
    if value is None:
        raise no_json(provider, body)
    return value


def event_json(event: bytes, provider: str) -> Any:
    """Return the JSON value of an event, which is not null. Raises `MalformedReply`."""
    try:
        value = decode_json(event.decode())
    except ValueError:
        value = None
    if value is None:
        raise MalformedReply(f"{provider} streamed broken JSON")
    return value
