"""HTTP for content: one overall deadline, a cap on the decoded body, and a guard on addresses.

`request` is for an API whose address the developer chose. `get_public` is for an address that
anybody may have chosen: see `address_guard`. Both return bytes; charsets are not their job.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from ..errors import FetchError
from ..observability.redact import mask
from ..transport import HttpClients
from .address_guard import AddressGuard

TIMEOUT = 12.0  # seconds for all of it: names, connections, redirects, body
CONNECT_TIMEOUT = 4.0  # seconds for one of a host's addresses
MAX_BYTES = 5_000_000
MAX_REDIRECTS = 10
ENCODINGS = "gzip, deflate"  # decoded here: only so does a small bomb stay small in memory
USER_AGENT = "Mozilla/5.0 (compatible; agentkit)"

_REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 65_536


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back: `url` is the address that answered, `body` is decoded, cut if `truncated`.

    Names of `headers` are in lower case.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False

    @property
    def content_type(self) -> str:
        """The media type in lower case without parameters; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Http:
    """Sends requests within `timeout` seconds and keeps at most `max_bytes` of a decoded body.

    Anything but a reply raises `FetchError` with one line; a status of 4xx or 5xx is a reply.
    Clients are made per event loop and closed by `aclose()`. `transport` is for tests.
    """

    def __init__(
        self,
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
        guard: AddressGuard | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.guard = guard or AddressGuard()
        self._clients = HttpClients(transport)

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> HttpReply:
        """Send one request to an API. Redirects are not followed: keys would travel with them."""
        target = _parsed(url)
        async with self._deadline(target):
            request = httpx2.Request(method, target, headers=_headers(headers), content=content)
            async with self._answer(request) as response:
                return await self._reply(str(target), response)

    async def get_public(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        check: Callable[[HttpReply], None] | None = None,
    ) -> HttpReply:
        """Get a page from a guarded address, following redirects, each of them guarded as well.

        `headers` go to the first origin only. `check` sees the reply without its body and may
        raise to leave it unread.
        """
        first = target = _parsed(url)
        async with self._deadline(target):
            for _ in range(MAX_REDIRECTS + 1):
                own = headers if _origin(target) == _origin(first) else None
                async with self._guarded_answer(target, own) as response:
                    following = _redirect(target, response)
                    if following is None:
                        if check is not None:
                            check(_head(str(target), response))
                        return await self._reply(str(target), response)
                target = following
        raise FetchError(f"more than {MAX_REDIRECTS} redirects from {_shown(first)}")

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()

    @asynccontextmanager
    async def _deadline(self, target: httpx2.URL) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout) as scope:
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            late = f"no complete answer within {self.timeout:g} s from {_shown(target)}"
            raise FetchError(late) from None

    @asynccontextmanager
    async def _guarded_answer(
        self, target: httpx2.URL, headers: Mapping[str, str] | None
    ) -> AsyncIterator[httpx2.Response]:
        """Connect to the addresses that were checked, one after the other, and to no other."""
        port = target.port or (443 if target.scheme == "https" else 80)
        addresses = await self.guard.addresses(target.host, port)
        for place, address in enumerate(addresses, 1):
            # Each host gets a connection of its own. Kept open, one would serve the next host at
            # that address, whose certificate nobody has looked at.
            fixed = {"Host": target.netloc.decode("ascii"), "Connection": "close"}
            request = httpx2.Request(
                "GET",
                target.copy_with(host=address),
                headers=_headers(headers) | fixed,
                extensions={
                    "sni_hostname": target.host.strip("[]").removesuffix("."),
                    "timeout": {"connect": CONNECT_TIMEOUT},
                },
            )
            try:
                response = await self._send(request, target)
            except _NotConnected as error:
                if place == len(addresses):
                    raise FetchError(str(error)) from None
                continue
            async with _closing(response, target):
                yield response
            return

    async def _send(self, request: httpx2.Request, target: httpx2.URL) -> httpx2.Response:
        try:
            return await self._clients.send(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise _NotConnected(_failed(target, error)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise FetchError(_failed(target, error)) from None
