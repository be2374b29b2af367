"""HTTP connections: kept per event loop, one TLS context, and pools that stay fast when many wait.

A pool's bookkeeping grows with its open connections for each request (pydantic/httpx2#974), so a
client spreads requests over many small pools and takes the first that is idle.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from threading import Lock

import httpx2

POOLS = 64
KEEPALIVE = 30.0  # seconds an idle connection is kept: a tool run between two calls is shorter

_Ways = dict[bool, httpx2.AsyncBaseTransport]  # for http and for https


class HttpClients:
    """Makes and keeps HTTP connections for the one who owns it; `aclose()` closes them.

    They have no timeout of their own: callers put a deadline round the whole call. With
    `transport` (tests) every request goes there. Proxy variables of the environment are honoured.
    Threads may share it, each with an event loop of its own.
    """

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._ways: dict[asyncio.AbstractEventLoop, _Ways] = {}
        self._lock = Lock()  # what one thread adds, another must not lose
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a complete request; the caller reads the response's body and closes it.

        This leaves out what a client does for sessions (cookies, redirects, authentication), which
        takes it a third of a small request's time.
        """
        secure = request.url.scheme != "http"
        loop = asyncio.get_running_loop()
        ways = self._ways.get(loop)
        way = ways.get(secure) if ways is not None else None
        if way is None:
            way = self._new_way(loop, secure)
        return await way.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the running loop's connections; those of loops that are gone went with them."""
        with self._lock:
            ways = self._ways.pop(asyncio.get_running_loop(), {})
        for way in ways.values():
            await way.aclose()

    def _new_way(self, loop: asyncio.AbstractEventLoop, secure: bool) -> httpx2.AsyncBaseTransport:
        with self._lock:
            alive = {known: ways for known, ways in self._ways.items() if not known.is_closed()}
            way = self._connections(secure) if self._transport is None else self._transport
            alive.setdefault(loop, {})[secure] = way
            self._ways = alive
        return way

    def _connections(self, secure: bool) -> httpx2.AsyncBaseTransport:
        from urllib.request import getproxies  # loads http.client, which nothing else needs

        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEPALIVE
        )
        verify: ssl.SSLContext | bool = False
        if secure:
            verify = self._tls = self._tls or httpx2.create_ssl_context()
        if getproxies().keys() - {"no"}:  # only httpx2 itself knows how to use them
            return _Client(httpx2.AsyncClient(verify=verify, limits=limits, timeout=None))
        return _Pools(lambda: httpx2.AsyncHTTPTransport(verify=verify, limits=limits))


class _Client(httpx2.AsyncBaseTransport):
    """A client that finds the proxy of each request, and else sends what the pools would."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        auth = httpx2.Auth()  # none: a password in the URL would replace the header that is there
        return await self._client.send(request, stream=True, auth=auth)

    async def aclose(self) -> None:
        await self._client.aclose()


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
