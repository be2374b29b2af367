"""HTTP clients: one per event loop, closed by their owner, and pools that spread the load."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from ..transport import POOLS, HttpClients

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Server:
    """A small HTTP server on this machine; `connections` counts those it accepted."""

    def __init__(self, wait: Callable[[], Awaitable[object]] | None = None) -> None:
        self.connections = 0
        self.requests = 0
        self._wait = wait

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client closes the connection."""
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.requests += 1
                if self._wait:
                    await self._wait()
                writer.write(REPLY)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def listen(self) -> Any:
        """Listen on a free port; yields the address."""
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await asyncio.sleep(0)


def respond(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, text="hi")


async def test_a_loop_has_one_client_per_scheme() -> None:
    """It is made once and used again."""
    clients = HttpClients(httpx2.MockTransport(respond))
    first = clients.get("http://a/")
    assert clients.get("http://b/x") is first
    assert clients.get("https://a/") is not first
    await clients.aclose()


def test_each_loop_has_a_client_of_its_own() -> None:
    """The client of a loop that is gone is never used again, nor kept."""
    clients = HttpClients(httpx2.MockTransport(respond))

    async def use() -> weakref.ref[httpx2.AsyncClient]:
        client = clients.get("http://a/")
        assert (await client.get("http://a/")).text == "hi"
        return weakref.ref(client)

    first = asyncio.run(use())
    second = asyncio.run(use())
    gc.collect()
    assert first() is None
    assert second() is not None


@pytest.mark.usefixtures("loopback")
def test_a_second_run_connects_anew() -> None:
    """`asyncio.run` twice on one object: no "Event loop is closed", no warning."""
    clients = HttpClients()

    async def use() -> str:
        server = Server()
        async with server.listen() as url:
            text = (await clients.get(url).get(url)).text
            await clients.aclose()
        return text

    assert [asyncio.run(use()), asyncio.run(use())] == ["hi", "hi"]
    gc.collect()


@pytest.mark.usefixtures("loopback")
async def test_a_connection_is_used_again() -> None:
    """Requests one after the other share one connection."""
    server, clients = Server(), HttpClients()
    async with server.listen() as url:
        for _ in range(5):
            assert (await clients.get(url).get(url)).text == "hi"
        await clients.aclose()
    assert (server.requests, server.connections) == (5, 1)


@pytest.mark.usefixtures("loopback")
async def test_requests_at_once_do_not_wait_for_each_other() -> None:
    """More than there are pools: each gets a connection of its own."""
    arrived = asyncio.Event()
    count = POOLS + 10

    async def wait() -> None:
        if server.requests == count:
            arrived.set()
        await arrived.wait()

    server, clients = Server(wait), HttpClients()
    async with server.listen() as url, asyncio.timeout(20):
        client = clients.get(url)
        replies = await asyncio.gather(*(client.get(url) for _ in range(count)))
        assert {reply.text for reply in replies} == {"hi"}
        await clients.aclose()
    assert server.connections == count


async def test_closing_closes_and_can_be_repeated() -> None:
    """Nothing that was closed is handed out again, and twice is as good as once."""
    clients = HttpClients(httpx2.MockTransport(respond))
    await clients.aclose()
    first = clients.get("http://a/")
    await clients.aclose()
    await clients.aclose()
    assert first.is_closed
    assert (await clients.get("http://a/").get("http://a/")).text == "hi"
    await clients.aclose()


@pytest.mark.usefixtures("loopback")
async def test_a_cancelled_request_frees_its_place() -> None:
    """The next one does not wait for it, and gets an answer."""
    arrived, go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        arrived.set()
        await go.wait()

    server, clients = Server(wait), HttpClients()
    async with server.listen() as url:
        client = clients.get(url)
        task = asyncio.create_task(client.get(url))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert (await client.get(url)).text == "hi"
        await clients.aclose()


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only httpx2 itself knows how, so it gets to choose the way."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    clients = HttpClients()
    client = clients.get("http://example.com/")
    assert any(pattern.pattern == "http://" for pattern in client._mounts)
    await clients.aclose()
