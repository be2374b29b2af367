"""Open connections to HTTP servers: each serves one request at a time, idle ones are used again.

HTTP itself is httpcore2's. Its pool and its sockets are left out: the one looks at every open
connection for each request (pydantic/httpx2#974), the others serve several kinds of event loops,
which takes them half the time of a small request. These are asyncio's alone.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import httpcore2
import httpx2

from .network_stream import NetworkStream
from .transport import KEEPALIVE

NEXT_ADDRESS = 0.25  # seconds until a host's next address is tried as well (RFC 8305)

_PORTS = {"http": 80, "https": 443}
_Host = tuple[bytes, bytes, int]
_Connection = httpcore2.AsyncHTTP11Connection
_FAILURES = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)


class Connections(httpx2.AsyncBaseTransport):
    """Sends each request over an idle connection to its host, or over a new one.

    Of a request's timeouts only `connect` counts.
    """

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._open: set[_Connection] = set()
        self._idle: dict[_Host, deque[_Connection]] = {}  # in each the one that waits longest first

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        if url.scheme not in _PORTS:
            raise httpx2.UnsupportedProtocol(f"{url.scheme}:// is neither http:// nor https://")
        host = (url.raw_scheme, url.raw_host, url.port or _PORTS[url.scheme])
        target = httpcore2.URL(scheme=host[0], host=host[1], port=host[2], target=url.raw_path)
        wanted = httpcore2.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        connection = await self._idle_one(host) or await self._connect(wanted)
        try:
            with _errors_of_httpx2():
                response = await connection.handle_async_request(wanted)
        except BaseException:
            self._open.discard(connection)  # it has closed itself
            raise
        return httpx2.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, lambda: self._release(host, connection)),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        connections, self._open = self._open, set()
        self._idle.clear()
        for connection in connections:
            await connection.aclose()

    async def _idle_one(self, host: _Host) -> _Connection | None:
        idle = self._idle.get(host)
        while idle:
            connection = idle.popleft()
            if not connection.has_expired():
                return connection
            self._open.discard(connection)
            await connection.aclose()
        return None

    async def _connect(self, wanted: httpcore2.Request) -> _Connection:
        origin, extensions = wanted.url.origin, wanted.extensions
        host, loop = origin.host.decode("ascii"), asyncio.get_running_loop()
        options: dict[str, Any] = {}
        if self._tls is not None:
            name = extensions.get("sni_hostname") or host
            options |= {"ssl": self._tls, "server_hostname": name}
        if isinstance(loop, asyncio.BaseEventLoop):  # uvloop's does not know it
            options["happy_eyeballs_delay"] = NEXT_ADDRESS
        try:
            async with asyncio.timeout(extensions.get("timeout", {}).get("connect")):
                _, stream = await loop.create_connection(
                    NetworkStream, host, origin.port, **options
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("no connection in time") from error
        except OSError as error:
            raise httpx2.ConnectError(str(error)) from error
        connection = _Connection(origin, stream, KEEPALIVE)
        self._open.add(connection)
        return connection

    def _release(self, host: _Host, connection: _Connection) -> None:
        """Keep a connection whose response was read to its end; any other has closed itself."""
        if connection.is_idle() and connection in self._open:
            self._idle.setdefault(host, deque()).append(connection)
        else:
            self._open.discard(connection)


class _Body(httpx2.AsyncByteStream):
    """The body of a response; closing it releases the connection."""

    def __init__(self, response: httpcore2.Response, release: Callable[[], None]) -> None:
        self._stream: Any = response.stream
        self._release: Callable[[], None] | None = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx2():
            async with aclosing(aiter(self._stream)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self._release is not None:
            self._release()
            self._release = None


@contextmanager
def _errors_of_httpx2() -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        kind: type[Exception] = getattr(httpx2, type(error).__name__)
        raise kind(str(error)) from error
