from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ...errors import StoreError
from ...session.lease import LeasedTurns
from ...session.owner import LEASE, POLL


class Server:
    """Leases on a server whose time moves when somebody sleeps, and of what it was asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.held: dict[str, tuple[str, float]] = {}
        self.slept: list[float] = []
        self.down = False
        self.reply = asyncio.Event()
        self.reply.set()

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)
        await asyncio.sleep(0)

    async def take(self, id: str, owner: str) -> bool:
        self._answer()
        holder, expires = self.held.get(id, (owner, 0.0))
        if holder != owner and expires > self.now:
            return False
        self.held[id] = (owner, self.now + LEASE)
        await self.reply.wait()
        return True

    async def extend(self, id: str, owner: str) -> None:
        self._answer()
        if self.held[id][0] == owner:
            self.held[id] = (owner, self.now + LEASE)

    async def release(self, id: str, owner: str) -> None:
        self._answer()
        if self.held[id][0] == owner:
            del self.held[id]

    def _answer(self) -> None:
        if self.down:
            raise StoreError("no connection")


async def until(reached: Callable[[], bool]) -> None:
    """Let the others run until something is so."""
    for _ in range(1_000):
        if reached():
            return
        await asyncio.sleep(0)
    pytest.fail("it does not come to that")


async def never(seconds: float) -> None:
    """A sleep that does not end: what waits for it does not happen."""
    await asyncio.Event().wait()


@pytest.fixture
def server() -> Server:
    return Server()


async def test_a_free_session_is_held_and_freed(server: Server) -> None:
    """Nobody waits for what nobody holds."""
    turns = LeasedTurns(server, never)
    async with turns("s"):
        assert list(server.held) == ["s"]
    assert server.held == {}


async def test_another_process_waits(server: Server) -> None:
    """It looks again until the session is free."""
    mine, theirs = LeasedTurns(server, never), LeasedTurns(server, server.sleep)
    events: list[str] = []

    async def wait() -> None:
        async with theirs("s"):
            events.append("theirs")

    async with mine("s"):
        task = asyncio.create_task(wait())
        await until(lambda: server.slept.count(POLL) >= 3)
        events.append("mine")
    await task
    assert events == ["mine", "theirs"]


async def test_a_process_without_a_sign_of_life_loses_the_session(server: Server) -> None:
    """Dead, or hanging: after 15 seconds it is another one's, and stays that."""
    mine, theirs = LeasedTurns(server, never), LeasedTurns(server, server.sleep)
    async with mine("s"):
        async with theirs("s"):
            assert server.now >= LEASE
        async with theirs("s"):
            pass
        assert "s" not in server.held
        server.held["s"] = ("somebody", 1e9)
    assert server.held["s"][0] == "somebody"


async def test_a_turn_is_renewed_while_it_is_held(server: Server) -> None:
    """A long turn is not taken for a dead one, even if the server was away for a moment."""
    async with LeasedTurns(server, server.sleep)("s"):
        server.down = True
        await until(lambda: server.now >= LEASE / 2)
        server.down = False
        await until(lambda: server.now >= 3 * LEASE)
        assert server.held["s"][1] > server.now


async def test_a_server_that_is_down_fails_the_turn(server: Server) -> None:
    """The error passes, and the next one is not locked out."""
    turns = LeasedTurns(server, never)
    server.down = True
    with pytest.raises(StoreError):
        async with turns("s"):
            pytest.fail("nobody holds the session")
    server.down = False
    async with turns("s"):
        server.down = True  # the release fails: the lease will expire


async def test_a_turn_cancelled_while_the_server_answers_is_freed(server: Server) -> None:
    """The server may have given it already: it is freed after that, never before."""
    turns = LeasedTurns(server, server.sleep)

    async def hold() -> None:
        async with turns("s"):
            pytest.fail("it was cancelled before")

    server.reply.clear()
    task = asyncio.create_task(hold())
    await until(lambda: bool(server.held))
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # an impatient caller
    with pytest.raises(asyncio.CancelledError):
        await task
    server.reply.set()
    async with turns("s"):
        pass
    await until(lambda: not server.held)
