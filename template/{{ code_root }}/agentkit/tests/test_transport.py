"""HTTP connections: kept per event loop, closed by their owner, and used again."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from threading import Barrier
from typing import Any

import httpx2
import pytest

from ..transport import HttpClients

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Server:
    """A small HTTP server on this machine; `connections` counts those it accepted.

    `heads` are the requests' first lines and headers.
    """

    def __init__(self, wait: Callable[[], Awaitable[object]] | None = None) -> None:
        self.connections = 0
        self.heads: list[bytes] = []
        self._wait = wait

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client closes the connection."""
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
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


async def ask(clients: HttpClients, url: str) -> str:
    """Return the body of a response, read to its end."""
    async with aclosing(await clients.send(httpx2.Request("GET", url))) as response:
        return (await response.aread()).decode()


def test_what_belongs_to_a_loop_that_is_gone_is_not_kept() -> None:
    """Each loop has connections of its own, which nobody can close after it."""
    clients = HttpClients(httpx2.MockTransport(respond))
    for _ in range(3):
        assert asyncio.run(ask(clients, "http://a/")) == "hi"
    assert len(clients._ways) == 1


class YieldingLoop(asyncio.SelectorEventLoop):
    """Lets another thread run whenever it is looked at."""

    def is_closed(self) -> bool:
        time.sleep(0)
        return super().is_closed()


def test_threads_may_share_it() -> None:
    """Each has a loop of its own, and none loses what another adds."""
    clients = HttpClients(httpx2.MockTransport(respond))

    together = Barrier(8, timeout=20)

    async def use() -> None:
        together.wait()
        await ask(clients, "http://a/")
        together.wait()
        assert asyncio.get_running_loop() in clients._ways
        await clients.aclose()

    def use_often(_: int) -> None:
        for _ in range(10):
            with asyncio.Runner(loop_factory=YieldingLoop) as runner:
                runner.run(use())

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use_often, range(8)))
    assert clients._ways == {}


@pytest.mark.usefixtures("loopback")
def test_a_second_run_connects_anew() -> None:
    """`asyncio.run` twice on one object: no "Event loop is closed", no warning."""
    clients = HttpClients()

    async def use() -> str:
        server = Server()
        async with server.listen() as url:
            text = await ask(clients, url)
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
            assert await ask(clients, url) == "hi"
        await clients.aclose()
    assert (len(server.heads), server.connections) == (5, 1)


@pytest.mark.usefixtures("loopback")
async def test_requests_at_once_do_not_wait_for_each_other() -> None:
    """Each gets a connection of its own, however many there are."""
    arrived = asyncio.Event()
    count = 70

    async def wait() -> None:
        if len(server.heads) == count:
            arrived.set()
        await arrived.wait()

    server, clients = Server(wait), HttpClients()
    async with server.listen() as url, asyncio.timeout(20):
        replies = await asyncio.gather(*(ask(clients, url) for _ in range(count)))
        assert set(replies) == {"hi"}
        await clients.aclose()
    assert server.connections == count


@pytest.mark.usefixtures("loopback")
async def test_closing_closes_and_can_be_repeated() -> None:
    """Nothing that was closed is used again, and twice is as good as once."""
    server, clients = Server(), HttpClients()
    async with server.listen() as url:
        await clients.aclose()
        for _ in range(2):
            assert await ask(clients, url) == "hi"
            await clients.aclose()
            await clients.aclose()
    assert server.connections == 2


@pytest.mark.usefixtures("loopback")
async def test_a_cancelled_request_frees_its_place() -> None:
    """The next one does not wait for it, and gets an answer."""
    arrived, go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        arrived.set()
        await go.wait()

    server, clients = Server(wait), HttpClients()
    async with server.listen() as url:
        task = asyncio.create_task(ask(clients, url))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await ask(clients, url) == "hi"
        await clients.aclose()


@pytest.mark.usefixtures("loopback")
async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for the whole address, and no one else is asked."""
    server, clients = Server(), HttpClients()
    async with server.listen() as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        assert await ask(clients, "http://example.com/x") == "hi"
        await clients.aclose()
    assert server.heads[0].startswith(b"GET http://example.com/x HTTP/1.1\r\n")


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "variables", [{}, {"NO_PROXY": "*"}, {"HTTP_PROXY": "http://h:9", "NO_PROXY": "*"}]
)
async def test_a_url_sends_no_credentials_of_its_own(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not a proxy variable is set, the header that is there goes out."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    server, clients = Server(), HttpClients()
    async with server.listen() as url:
        request = httpx2.Request(
            "GET", url.replace("//", "//user:pw@"), headers={"authorization": "Bearer key"}
        )
        async with aclosing(await clients.send(request)) as response:
            await response.aread()
        await clients.aclose()
    assert server.heads[0].lower().count(b"authorization:") == 1
    assert b"Bearer key" in server.heads[0]
