"""A socket of asyncio's, plain or with TLS, as httpcore2 reads and writes it."""

from __future__ import annotations

import asyncio
import select
from collections import deque
from typing import Any

import httpcore2

MOST_UNREAD = 256 * 1024  # bytes that came and nobody has read; beyond it the sender has to wait


class NetworkStream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """Reads and writes bytes; takes a turn of the event loop only where it has to wait.

    Raises httpcore2's `ReadError` and `WriteError`. Timeouts are left to those who ask: theirs are
    for the whole of what they do.
    """

    def __init__(self) -> None:
        self._transport: Any = None
        self._received: deque[bytes] = deque()
        self._unread = 0
        self._ended = False
        self._error: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None  # what `read` waits for
        self._room: asyncio.Future[None] | None = None  # what `write` waits for, if it has to

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Return what came next, `b""` at the end."""
        if not self._received and not self._ended:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        if not self._received:
            if self._error is not None:
                raise httpcore2.ReadError(str(self._error)) from self._error
            return b""
        data = self._received.popleft()
        self._unread -= len(data)
        if not self._received and not self._ended:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send the bytes, or have them sent; waits while too many are on their way."""
        self._transport.write(buffer)
        if self._room is not None:
            await self._room
        if self._ended:
            raise httpcore2.WriteError(str(self._error or "the connection is closed"))

    async def aclose(self) -> None:
        """Close the socket at once."""
        self._transport.abort()

    def get_extra_info(self, info: str) -> Any:
        """Return the transport's own, or tell whether something came (`is_readable`)."""
        if info != "is_readable":
            return self._transport.get_extra_info(info)
        return self._ended or bool(self._received) or _is_readable(self._transport)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received.append(data)
        self._unread += len(data)
        if self._unread > MOST_UNREAD:
            self._transport.pause_reading()
        self._wake(self._arrival)

    def eof_received(self) -> None:
        self._ended = True
        self._wake(self._arrival)

    def connection_lost(self, error: Exception | None) -> None:
        self._ended, self._error = True, error
        self._wake(self._arrival)
        self.resume_writing()

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        self._wake(room)

    def _wake(self, waiting: asyncio.Future[None] | None) -> None:
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


def _is_readable(transport: asyncio.BaseTransport) -> bool:
    """Ask the system: the event loop may not have looked since the server hung up."""
    socket = transport.get_extra_info("socket")
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(socket, select.POLLIN)
        return bool(waiting.poll(0))
    return bool(select.select([socket], [], [], 0)[0])
