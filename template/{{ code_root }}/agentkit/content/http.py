"""HTTP for content: one overall deadline, a cap on the decoded body, and a guard on addresses.

`request` is for an API whose address the developer chose. `get_public` is for an address that
anybody may have chosen: see `address_guard`. Both return bytes; charsets are not their job.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from ..errors import FetchError
from ..observability.redact import exception_text, mask
from ..transport import HttpClients
from .address_guard import AddressGuard
from .content_encoding import ACCEPTED, decoder

TIMEOUT = 12.0  # seconds for all of it: names, connections, redirects, body
CONNECT_TIMEOUT = 4.0  # seconds for one of a host's addresses
MAX_BYTES = 5_000_000
MAX_REDIRECTS = 10

_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:]+[0-9A-Fa-f:.]*")
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back: `url` is the address that answered, `body` is decoded, cut if `truncated`.

    Names of `headers` are in lower case; of a header that came twice the values are joined.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    truncated: bool = False

    @property
    def content_type(self) -> str:
        """The media type in lower case without parameters; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Http:
    """Sends requests within `timeout` seconds and keeps at most `max_bytes` of a decoded body.

    Anything but a reply raises `FetchError` with one line; a status of 4xx or 5xx is a reply.
    `headers` go with every request. Clients are made per event loop and closed by `aclose()`.
    `transport` is for tests.
    """

    def __init__(
        self,
        timeout: float = TIMEOUT,
        max_bytes: int = MAX_BYTES,
        guard: AddressGuard | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.guard = guard or AddressGuard()
        self._headers = _lower(headers)
        self._clients = HttpClients(transport)

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> HttpReply:
        """Send one request to an API. Redirects are not followed: keys would travel with them."""
        target = parse_url(url)
        async with self._deadline(target):
            request = httpx2.Request(method, target, headers=self._all(headers), content=content)
            async with _reading(target, self._clients.send(request)) as response:
                return await self._read(target, response)

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
        first = target = parse_url(url)
        async with self._deadline(first):
            for _ in range(MAX_REDIRECTS + 1):
                own = headers if _origin(target) == _origin(first) else None
                async with _reading(target, self._send_guarded(target, own)) as response:
                    following = _redirect(target, response)
                    if following is None:
                        if check is not None:
                            check(_reply(target, response))
                        return await self._read(target, response)
                target = following
        raise FetchError(f"more than {MAX_REDIRECTS} redirects from {shown(first)}")

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        await self._clients.aclose()

    @asynccontextmanager
    async def _deadline(self, target: httpx2.URL) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout):
                yield
        except TimeoutError:
            late = f"no complete answer within {self.timeout:g} s from {shown(target)}"
            raise FetchError(late) from None

    async def _send_guarded(
        self, target: httpx2.URL, headers: Mapping[str, str] | None
    ) -> httpx2.Response:
        """Connect to the addresses that were checked, one after the other, and to no other."""
        host = target.raw_host.decode("ascii")
        addresses = await self.guard.addresses(host, _port(target))
        # Each request has a connection of its own. Kept open, it would serve the next host at
        # that address, whose certificate nobody has looked at.
        own = {"host": target.netloc.decode("ascii"), "connection": "close"}
        extensions = {
            "sni_hostname": host.removesuffix("."),
            "timeout": {"connect": CONNECT_TIMEOUT},
        }
        while True:
            request = httpx2.Request(
                "GET",
                target.copy_with(host=addresses.pop(0)),
                headers=self._all(headers) | own,
                extensions=extensions,
            )
            try:
                return await self._clients.send(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if not addresses:
                    raise

    def _all(self, headers: Mapping[str, str] | None) -> dict[str, str]:
        # With another Accept-Encoding than ours the body could not be decoded.
        return {**self._headers, **_lower(headers), "accept-encoding": ACCEPTED}

    async def _read(self, target: httpx2.URL, response: httpx2.Response) -> HttpReply:
        decode = decoder(response.headers.get("content-encoding", ""))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = bytearray()
        async for data in response.stream:
            for piece in decode(data):
                body += piece
                if len(body) > self.max_bytes:
                    return _reply(target, response, bytes(body[: self.max_bytes]), True)
        return _reply(target, response, bytes(body))


def parse_url(url: str) -> httpx2.URL:
    """Return the URL without its fragment.

    Raises `FetchError` for anything but http and https, and for one that holds a password.
    """
    try:
        target = httpx2.URL(url.strip())
    except (httpx2.InvalidURL, TypeError) as error:
        raise FetchError(f"{mask(url)[:200]!r} is no URL: {mask(str(error))}") from None
    if target.scheme not in ("http", "https"):
        raise FetchError(f"{mask(url)[:200]!r}: only http:// and https:// can be fetched")
    if not _HOST.fullmatch(target.raw_host.decode("ascii")) or not 0 < _port(target) < 65536:
        raise FetchError(f"{mask(url)[:200]!r} names no host and port that could be asked")
    if target.userinfo:
        raise FetchError(f"{shown(target)}: a URL with a user name or password is not fetched")
    return target.copy_with(fragment=None)


def shown(target: httpx2.URL) -> str:
    """Return a URL as it may stand in an error or a log."""
    return mask(str(target))[:200]


def _port(target: httpx2.URL) -> int:
    return target.port if target.port is not None else 443 if target.scheme == "https" else 80


def _origin(target: httpx2.URL) -> tuple[str, bytes, int]:
    return target.scheme, target.raw_host, _port(target)


def _lower(headers: Mapping[str, str] | None) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


def _redirect(target: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
    location = response.headers.get("location")
    if response.status_code not in _REDIRECTS or not location:
        return None
    try:
        return parse_url(str(target.join(location.strip())))
    except (httpx2.InvalidURL, ValueError):
        raise FetchError(f"{shown(target)} redirects to {mask(location)[:200]!r}") from None


def _reply(
    target: httpx2.URL, response: httpx2.Response, body: bytes = b"", truncated: bool = False
) -> HttpReply:
    headers = dict(response.headers.items())
    return HttpReply(str(target), response.status_code, headers, body, truncated)


@asynccontextmanager
async def _reading(
    target: httpx2.URL, sending: Awaitable[httpx2.Response]
) -> AsyncIterator[httpx2.Response]:
    """Await the response and close it at the end; what breaks in between is a `FetchError`."""
    try:
        response = await sending
        try:
            yield response
        finally:
            await response.aclose()
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, UnicodeError) as error:
        raise FetchError(f"{shown(target)}: {exception_text(error)}") from None
