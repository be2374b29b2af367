"""Bodies that no honest server sends: without an end, blown up, or left open after their end."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterable
from itertools import chain, repeat

import httpx2

HANG = 20.0  # seconds
MEGABYTE = b" " * 2**20


class OddBody(httpx2.AsyncByteStream):
    """Yields chunks, then hangs if it is told to.

    `taken` counts the bytes that were read, `hung` tells since how many seconds it hangs.
    """

    def __init__(self, chunks: Iterable[bytes], *, hangs: bool = False) -> None:
        self.taken = 0
        self.is_closed = False
        self._chunks = chunks
        self._hangs = hangs
        self._hanging_since = 0.0

    @property
    def hung(self) -> float:
        return asyncio.get_running_loop().time() - self._hanging_since

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.taken += len(chunk)
            yield chunk
        if self._hangs:
            self._hanging_since = asyncio.get_running_loop().time()
            await asyncio.sleep(HANG)

    async def aclose(self) -> None:
        self.is_closed = True


def endless(start: bytes) -> OddBody:
    """Return a body that goes on with blanks for ever."""
    return OddBody(chain([start], repeat(MEGABYTE)))


def bomb(megabytes: int) -> OddBody:
    """Return a body that gzip makes a thousand times longer."""
    return OddBody([gzip.compress(b"{" + MEGABYTE * megabytes)])


def respond(
    body: OddBody, status: int = 200, headers: dict[str, str] | None = None
) -> httpx2.MockTransport:
    """Return a transport that answers every request with this body."""
    return httpx2.MockTransport(lambda _: httpx2.Response(status, headers=headers, stream=body))
