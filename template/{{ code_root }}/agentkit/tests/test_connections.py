"""Connections to HTTP servers: which ones are used again, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import httpx2
import pytest

from ..connections import Connections
from ..network_stream import MOST_UNREAD

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
pytestmark = pytest.mark.usefixtures("loopback")


@asynccontextmanager
async def listening(answer: Answer) -> AsyncIterator[str]:
    """Answer each connection until it is closed; yields the address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    await asyncio.sleep(0)


async def fetch(connections: Connections, url: str, body: bytes | None = None) -> bytes:
    """Return the body of a response, read to its end."""
    request = httpx2.Request("GET" if body is None else "POST", url, content=body)
    async with aclosing(await connections.handle_async_request(request)) as response:
        return await response.aread()


async def head(reader: asyncio.StreamReader) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    """Not even when its end came while the event loop did other things."""
    listener = socket.create_server(("127.0.0.1", 0))
    hang_up, closed = threading.Event(), threading.Event()

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(REPLY)
            hang_up.wait(20)
            connection.close()
            closed.set()

    threading.Thread(target=serve, daemon=True).start()
    url, connections = f"http://127.0.0.1:{listener.getsockname()[1]}/", Connections(None)
    assert await fetch(connections, url) == b"hi"
    hang_up.set()
    assert closed.wait(20)
    assert await fetch(connections, url) == b"hi"
    await connections.aclose()
    listener.close()


async def test_bytes_that_nobody_asked_for_are_no_reply() -> None:
    """A server may say that it hangs up (408) after a reply; that answers no later request."""
    answered, sent = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(REPLY)
        await answered.wait()
        writer.write(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
        sent.set()
        await reader.read()

    connections = Connections(None)
    async with listening(answer) as url:
        assert await fetch(connections, url) == b"hi"
        answered.set()
        await sent.wait()
        assert await fetch(connections, url) == b"hi"
        await connections.aclose()


async def test_a_body_that_is_not_read_to_its_end_ends_the_connection() -> None:
    """What is left of it would stand before the next reply."""
    accepted = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await head(reader)
        writer.write(REPLY[:-1])
        await reader.read()

    connections = Connections(None)
    async with listening(answer) as url:
        for _ in range(2):
            await (await connections.handle_async_request(httpx2.Request("GET", url))).aclose()
        await connections.aclose()
    assert len(accepted) == 2


async def test_a_body_that_is_cut_off_is_an_error() -> None:
    """The error is httpx2's, as those who send requests expect."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.write(REPLY[:-1])

    async with listening(answer) as url:
        with pytest.raises(httpx2.RemoteProtocolError):
            await fetch(Connections(None), url)


async def test_a_reset_is_an_error() -> None:
    """So is a server that hangs up without a word."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        writer.transport.abort()

    async with listening(answer) as url:
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await fetch(Connections(None), url)


async def test_nobody_listening_is_a_connect_error() -> None:
    """Its text says what the system said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpx2.ConnectError, match=str(port)):
        await fetch(Connections(None), f"http://127.0.0.1:{port}/")


async def test_other_protocols_are_refused() -> None:
    """Nothing is sent to a server that speaks something else."""
    with pytest.raises(httpx2.UnsupportedProtocol, match="ftp"):
        await fetch(Connections(None), "ftp://127.0.0.1/")


async def test_large_bodies_go_both_ways() -> None:
    """More than any buffer on the way holds: each side waits for the other."""
    body = bytes(range(256)) * (MOST_UNREAD // 8)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        data = await reader.readexactly(len(body))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + data)
        await writer.drain()

    connections = Connections(None)
    async with listening(answer) as url:
        assert await fetch(connections, url, body) == body
        await connections.aclose()


async def test_closing_ends_a_request_that_is_under_way() -> None:
    """It fails as if the server had gone, and leaves nothing open."""
    arrived = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head(reader)
        arrived.set()
        await reader.read()

    connections = Connections(None)
    async with listening(answer) as url:
        task = asyncio.create_task(fetch(connections, url))
        await arrived.wait()
        await connections.aclose()
        with pytest.raises(httpx2.RemoteProtocolError):
            await task
