"""An MCP server behind HTTP (streamable, or the older SSE), its failures told for what they are.

The SDK ends a whole session when one request cannot be sent, and drops the status of a refusal.
The client here turns both into the error of that one request, and says whether the server may
have seen it.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from ..observability.redact import exception_text, mask
from ..texts import clean
from .mcp_config import HttpServer
from .mcp_errors import EXPIRED, LOST, NOT_SENT, REFUSED

LARGEST = 16 * 1024 * 1024  # bytes of one message
LONGEST_REFUSAL = 64 * 1024  # bytes read of an answer with an error status
CONNECT = 10.0  # seconds to be connected
SMALL = 5.0  # seconds for what has no answer: notifications, the end of a session


@asynccontextmanager
async def http_transport(
    server: HttpServer,
    lost: Callable[[str], None],
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Any]:
    """Yield the SDK's pair of message streams; with `transport` (tests) requests go there.

    `lost(reason)` is called when a message could not be delivered and the session is over.
    """
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client

    def client(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
        return _Client(
            lost if server.type == "sse" else None,
            headers={"accept-encoding": "identity", **server.headers},
            timeout=httpx2.Timeout(None, connect=CONNECT),
            transport=transport,
        )

    if server.type == "sse":
        async with sse_client(server.url, httpx_client_factory=client) as streams:
            yield streams
    else:
        async with (
            client() as http,
            streamable_http_client(
                server.url, http_client=http, max_sse_event_size=LARGEST
            ) as streams,
        ):
            yield streams


class _Client(httpx2.AsyncClient):
    def __init__(self, lost: Callable[[str], None] | None, **options: Any) -> None:
        super().__init__(**options)
        self._lost = lost

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: Any = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        """Send; a message that fails is answered with an error in the form of the protocol."""
        limit = None if request.method == "GET" or _has_answer(request) else SMALL
        try:
            async with asyncio.timeout(limit):
                response = await super().send(
                    request, stream=stream, auth=auth, follow_redirects=follow_redirects
                )
        except Exception as error:
            if request.method != "POST":
                raise
            return self._failed(request, *_failure(error))
        if request.method == "POST":
            return await self._checked(request, response)
        if self._lost is not None and response.is_success:
            lost = functools.partial(self._lost, "its stream of answers ended")
            response.stream = _Body(response, None, lost)
        return response

    async def _checked(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return self._failed(request, LOST, "it sent a compressed answer, which was not asked")
        if response.status_code >= 400:
            return await self._refused(request, response)
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Body(response, None if events else LARGEST, None)
        return response

    async def _refused(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        """Return the server's own error message, or one that tells the status and the answer."""
        body = await _beginning(response)
        # The protocol asks for 404 where a session is unknown; much copied servers say 400.
        expired = "mcp-session-id" in request.headers and (
            response.status_code == 404
            or (response.status_code == 400 and b"session" in body.lower())
        )
        if expired:
            return self._failed(request, EXPIRED, "the session has expired")
        if _is_error(body) and self._lost is None:
            return httpx2.Response(
                response.status_code,
                headers={"content-type": "application/json"},
                content=body,
                request=request,
            )
        text = " ".join(clean(body.decode(errors="replace")).split())[:300]
        reason = f"HTTP {response.status_code} {response.reason_phrase}: {text}".rstrip(": ")
        return self._failed(request, REFUSED, mask(reason))

    def _failed(self, request: httpx2.Request, code: int, reason: str) -> httpx2.Response:
        if self._lost is not None:  # SSE: answers come on another stream, which cannot tell
            self._lost(reason)
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": reason}}
        return httpx2.Response(502, json=error, request=request)


class _Body(httpx2.AsyncByteStream):
    """A body of at most `longest` bytes, if that is given; `ended` is called at its end."""

    def __init__(
        self, response: httpx2.Response, longest: int | None, ended: Callable[[], None] | None
    ) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._longest = longest
        self._ended = ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                if self._longest is not None and size > self._longest:
                    # A kind of error that the SDK turns into one of the request.
                    raise httpx2.StreamError(f"more than {LARGEST // 1024**2} MB")
                yield chunk
        finally:
            if self._ended is not None:
                self._ended()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _beginning(response: httpx2.Response) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(SMALL):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > LONGEST_REFUSAL:
                    break
    except (httpx2.TransportError, TimeoutError):
        pass  # the status is enough
    finally:
        await response.aclose()
    return body[:LONGEST_REFUSAL]


def _failure(error: Exception) -> tuple[int, str]:
    unsent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError))
    return NOT_SENT if unsent else LOST, exception_text(error)


def _has_answer(request: httpx2.Request) -> bool:
    message = json.loads(request.content or "{}")
    return "method" in message and "id" in message


def _is_error(body: bytes) -> bool:
    try:
        message = json.loads(body)
        return isinstance(message["error"]["code"], int)
    except (ValueError, TypeError, KeyError):
        return False
