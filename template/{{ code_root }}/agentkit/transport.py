"""HTTP clients: connections kept per event loop, one TLS context."""

from __future__ import annotations

import asyncio
import ssl
from threading import Lock

import httpx2

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

        if secure and self._tls is None:
            self._tls = httpx2.create_ssl_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        tls = self._tls if secure else None
        if getproxies().keys() - {"no"}:  # only httpx2 itself knows how to use them
            limits = httpx2.Limits(keepalive_expiry=KEEPALIVE)
            return _Client(httpx2.AsyncClient(verify=tls or False, limits=limits, timeout=None))
        from .connections import Connections

        return Connections(tls)


class _Client(httpx2.AsyncBaseTransport):
    """A client that finds the proxy of each request, and else sends what `Connections` would."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        auth = httpx2.Auth()  # none: a password in the URL would replace the header that is there
        return await self._client.send(request, stream=True, auth=auth)

    async def aclose(self) -> None:
        await self._client.aclose()
