"""HTTP clients: one per event loop, one TLS context, and pools that stay fast when many wait.

A pool's bookkeeping grows with its open connections for each request (pydantic/httpx2#974), so a
client spreads requests over many small pools and takes the first that is idle.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import httpx2

POOLS = 64
KEEPALIVE = 30.0  # seconds an idle connection is kept: a tool run between two calls is shorter


class _Way(NamedTuple):
    """A client, and the transport below it that can be used directly (None behind a proxy)."""

    client: httpx2.AsyncClient
    transport: httpx2.AsyncBaseTransport | None


class HttpClients:
    """Makes and keeps HTTP clients for the one who owns it; `aclose()` closes them.

    Clients have no timeout of their own: callers put a deadline round the whole call. With
    `transport` (tests) every request goes there. Proxy variables of the environment are honoured.
    """

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._ways: dict[asyncio.AbstractEventLoop, dict[bool, _Way]] = {}
        self._tls: ssl.SSLContext | None = None

    def get(self, url: str) -> httpx2.AsyncClient:
        """Return the running loop's client for this URL's scheme."""
        return self._way(not url.startswith("http:")).client

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a complete request; the caller reads the response's body and closes it.

        This leaves out what a client does for sessions (cookies, redirects, authentication), which
        takes it a third of a small request's time.
        """
        way = self._way(request.url.scheme != "http")
        if way.transport is not None:
            return await way.transport.handle_async_request(request)
        return await way.client.send(request, stream=True)

    async def aclose(self) -> None:
        """Close the running loop's clients; those of loops that are gone went with them."""
        for way in self._ways.pop(asyncio.get_running_loop(), {}).values():
            await way.client.aclose()

    def _way(self, secure: bool) -> _Way:
        loop = asyncio.get_running_loop()
        ways = self._ways.get(loop)
        if ways is None:
            self._ways = {
                known: ways for known, ways in self._ways.items() if not known.is_closed()
            }
            ways = self._ways[loop] = {}
        way = ways.get(secure)
        if way is None:
            way = ways[secure] = self._new_way(secure)
        return way

    def _new_way(self, secure: bool) -> _Way:
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEPALIVE
        )
        from urllib.request import getproxies  # loads http.client, which nothing else needs

        transport = self._transport
        if transport is None:
            verify: ssl.SSLContext | bool = False
            if secure:
                verify = self._tls = self._tls or httpx2.create_ssl_context()
            if getproxies():  # only httpx2 itself knows how to use them
                return _Way(httpx2.AsyncClient(verify=verify, limits=limits, timeout=None), None)
            transport = _Pools(lambda: httpx2.AsyncHTTPTransport(verify=verify, limits=limits))
        client = httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False)
        return _Way(client, transport)


class _Pools(httpx2.AsyncBaseTransport):
    """Sends each request to the first idle pool, else to a new one, else to the least busy."""

    def __init__(self, new_pool: Callable[[], httpx2.AsyncHTTPTransport]) -> None:
        self._new_pool = new_pool
        self._pools: list[httpx2.AsyncHTTPTransport] = []
        self._busy: list[int] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        index = self._choose()
        self._busy[index] += 1
        try:
            response = await self._pools[index].handle_async_request(request)
        except BaseException:
            self._busy[index] -= 1
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _CountedStream(response.stream, self._busy, index)
        return response

    def _choose(self) -> int:
        if 0 in self._busy:
            return self._busy.index(0)
        if len(self._pools) < POOLS:
            self._pools.append(self._new_pool())
            self._busy.append(0)
            return len(self._pools) - 1
        return self._busy.index(min(self._busy))

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class _CountedStream(httpx2.AsyncByteStream):
    """A response body that frees its place in the pool when it is closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, busy: list[int], index: int) -> None:
        self._stream = stream
        self._busy = busy
        self._index = index
        self._open = True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            self._busy[self._index] -= 1
        await self._stream.aclose()
