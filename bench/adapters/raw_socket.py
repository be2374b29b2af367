"""The absolute floor: keep-alive sockets, HTTP/1.1 by hand, the standard json.

Not fit for use (no TLS, no chunked bodies, no redirects); it shows what CPython and asyncio cost.
"""

import asyncio
import json
from urllib.parse import urlsplit

from ..adapter import Json
from ..floor import RawAgent

TITLE = "bare asyncio socket (absolute floor)"
IMPORT = "import asyncio, json"
VENV = "raw_httpx2"


class Connection(asyncio.Protocol):
    """One keep-alive connection with one request in flight."""

    transport: asyncio.Transport
    reply: "asyncio.Future[tuple[int, bytes]]"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.buffer, self.end = transport, b"", -1

    def data_received(self, data: bytes) -> None:
        """Collect until the body is as long as the head said."""
        self.buffer += data
        if self.end < 0 and b"\r\n\r\n" in self.buffer:
            self._read_head()
        if 0 <= self.end <= len(self.buffer):
            body = self.buffer[self.start : self.end]
            self.buffer, self.end = self.buffer[self.end :], -1
            self.reply.set_result((self.status, body))

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request in flight."""
        if hasattr(self, "reply") and not self.reply.done():
            self.reply.set_exception(exc or ConnectionError("closed"))

    def _read_head(self) -> None:
        head, _, _ = self.buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        self.start, self.status = len(head) + 4, int(head[9:12])
        self.end = self.start + int(length)


class SocketPool:
    """As many connections as there are requests at once."""

    def __init__(self, base: str) -> None:
        url = urlsplit(base)
        self.host, self.port = url.hostname or "", url.port or 80
        self.free: list[Connection] = []
        self.head = (
            f"POST {url.path}/v1/chat/completions HTTP/1.1\r\nhost: {url.netloc}\r\n"
            "authorization: Bearer sk-test\r\ncontent-type: application/json\r\ncontent-length: "
        ).encode()

    async def post(self, body: Json) -> Json:
        """Post a body and return the parsed reply."""
        connection = self.free.pop() if self.free else await self._connect()
        content = json.dumps(body).encode()
        connection.reply = asyncio.get_running_loop().create_future()
        connection.transport.write(self.head + b"%d\r\n\r\n" % len(content) + content)
        status, reply = await connection.reply
        self.free.append(connection)
        if status >= 400:
            raise RuntimeError(f"status {status}")
        parsed: Json = json.loads(reply)
        return parsed

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, self.host, self.port))[1]

    async def aclose(self) -> None:
        """Close the idle connections."""
        for connection in self.free:
            connection.transport.close()


def make(base: str) -> RawAgent:
    """Build the raw loop on bare sockets."""
    pool = SocketPool(base)
    return RawAgent(pool.post, pool.aclose)
