"""A small web at the wire: names with addresses, pages by URL, and what a server would notice.

It answers only what a real network could deliver: a request must go to an address that was looked
up, carry the name it was meant for in `Host`, and, under https, as the name to be certified.
"""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Callable, Mapping

import httpx2

from ...content.address_guard import AddressGuard, numeric_address
from ...content.http import Http

PUBLIC = "93.184.215.14"


class Body(httpx2.AsyncByteStream):
    """Sends chunks as they are; `sent` counts those that were asked for."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self.sent = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self.sent += 1
            yield chunk

    async def aclose(self) -> None:
        self.closed = True


async def once(data: bytes) -> AsyncIterator[bytes]:
    """Yield the data in one piece."""
    yield data


def reply(
    body: bytes | str = b"",
    content_type: str | None = "text/html; charset=utf-8",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> httpx2.Response:
    """Return a response whose body goes over the wire as it is."""
    data = body.encode() if isinstance(body, str) else body
    declared = {} if content_type is None else {"content-type": content_type}
    return httpx2.Response(status, headers={**declared, **(headers or {})}, stream=Body(once(data)))


def zipped(body: bytes | str, content_type: str = "text/html; charset=utf-8") -> httpx2.Response:
    """Return a response whose body is compressed with gzip."""
    data = body.encode() if isinstance(body, str) else body
    return reply(gzip.compress(data), content_type, headers={"content-encoding": "gzip"})


def redirect(location: str, status: int = 302) -> httpx2.Response:
    """Return a redirect."""
    return reply(status=status, headers={"location": location})


Answer = httpx2.Response | Exception | Callable[[httpx2.Request], httpx2.Response]


class FakeWeb:
    """Serves `pages` by URL; any name that `addresses` does not list has one public address.

    `requests` are those that arrived, `asked` the URLs they were meant for, `connected` the
    addresses they went to, `looked_up` the names that were resolved. Addresses in `down` take no
    connections.
    """

    def __init__(self, pages: Mapping[str, Answer] | None = None) -> None:
        self.pages = dict(pages or {})
        self.addresses: dict[str, list[str]] = {}
        self.down: set[str] = set()
        self.requests: list[httpx2.Request] = []
        self.asked: list[str] = []
        self.connected: list[str] = []
        self.looked_up: list[str] = []
        self.transport = httpx2.MockTransport(self._handle)

    async def resolve(self, host: str, port: int) -> list[str]:
        """Look a name up; a name with no addresses is unknown."""
        self.looked_up.append(host)
        found = self.addresses.get(host, [PUBLIC])
        if not found:
            raise OSError(f"no address for {host}:{port}")
        return list(found)

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        address, name = request.url.host, request.headers["host"]
        assert numeric_address(address) is not None, f"connected to a name: {address}"
        self.connected.append(address)
        if address in self.down:
            raise httpx2.ConnectError("connection refused", request=request)
        certified = request.extensions["sni_hostname"]
        assert name.rpartition(":")[0].strip("[]") == certified or name.strip("[]").startswith(
            certified
        ), f"{name} is asked for, {certified} is to be certified"
        self.requests.append(request)
        url = f"{request.url.scheme}://{name}{request.url.raw_path.decode()}"
        self.asked.append(url)
        answer = self.pages.get(url, reply("nothing here", status=404))
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer


def client(web: FakeWeb, *, timeout: float = 12, max_bytes: int = 100_000) -> Http:
    """Return a client that knows no other network than this web."""
    guard = AddressGuard(resolve=web.resolve)
    return Http(timeout, max_bytes, guard, {"user-agent": "tests"}, web.transport)
