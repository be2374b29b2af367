from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from ...errors import StoreError
from ...observability.logger import Logger
from ...session.layered_store import PAUSE, LayeredSessionStore
from ...session.store import TRIMMED, MemorySessionStore, Row, Rows
from ..agent.unreliable_store import UnreliableStore
from .conversations import assistant, user
from .test_store import *  # noqa: F403  (the contract)
from .test_store import HELLO, Clock, MakeStore, Time

MORE: list[Row] = [user("more"), assistant("there is")]


@pytest.fixture
def make_store() -> MakeStore:
    def make(folder: Path, clock: Clock) -> LayeredSessionStore:
        return LayeredSessionStore(MemorySessionStore(clock), MemorySessionStore(clock))

    return make


class Stores:
    """Both layers, and the store made of them."""

    def __init__(self, logger: Logger) -> None:
        self.time = Time()
        self.short = UnreliableStore()
        self.long = UnreliableStore()
        self.both = LayeredSessionStore(self.short, self.long, logger, self.time)


@pytest.fixture
def stores(logger: Logger) -> Stores:
    return Stores(logger)


async def test_both_stores_get_what_is_appended(stores: Stores) -> None:
    """The short-term one to be fast, the long-term one to last."""
    await stores.both.append("s", HELLO, 0, "ann")
    assert await stores.short.load("s") == await stores.long.load("s") == HELLO
    assert [info.user_id for info in await stores.short.list()] == ["ann"]


async def test_the_long_term_store_is_asked_for_the_last_row_only(stores: Stores) -> None:
    """The rows come from the short-term store, the confirmation from the long-term one."""
    await stores.both.append("s", [*HELLO, *MORE], 0)
    assert await stores.both.load("s") == [*HELLO, *MORE]
    assert stores.long.asked == [("s", 3)]


async def test_what_the_short_term_store_forgot_is_given_back(stores: Stores) -> None:
    """A session that expired is filled from the long-term store with the next load."""
    await stores.both.append("s", HELLO, 0)
    await stores.short.delete("s")
    await stores.both.append("s", MORE, 2)
    assert await stores.both.load("s") == [*HELLO, *MORE]
    assert await stores.short.load("s") == [*HELLO, *MORE]


async def test_rows_that_the_short_term_store_missed_are_added(stores: Stores) -> None:
    """Another process may have written while it could not reach it."""
    await stores.both.append("s", HELLO, 0)
    await stores.long.append("s", MORE, 2)
    assert await stores.both.load("s", after=1) == [HELLO[1], *MORE]
    assert await stores.short.load("s") == [*HELLO, *MORE]


async def test_a_session_begun_anew_replaces_the_old_one(stores: Stores) -> None:
    """What the long-term store does not confirm is not served."""
    await stores.both.append("s", HELLO, 0)
    await stores.long.delete("s")
    await stores.long.append("s", MORE, 0)
    assert await stores.both.load("s") == MORE
    assert await stores.short.load("s") == MORE


async def test_a_deleted_session_is_not_served(stores: Stores) -> None:
    """Not even if the short-term store still has it."""
    await stores.both.append("s", HELLO, 0)
    await stores.long.delete("s")
    assert await stores.both.load("s") == []
    assert await stores.short.load("s") == []


async def test_what_the_short_term_store_trimmed_is_read_from_the_other(stores: Stores) -> None:
    """The whole conversation is there, whatever the window."""
    await stores.both.append("s", [*HELLO, *MORE], 0)
    await stores.short.delete("s")
    await stores.short.append("s", [TRIMMED, TRIMMED, *MORE], 0)
    assert await stores.both.load("s") == [*HELLO, *MORE]
    assert await stores.both.load("s", after=2) == MORE


@pytest.mark.parametrize("failing", ["load", "append"])
async def test_a_failing_short_term_store_costs_one_warning(
    stores: Stores, log: io.StringIO, failing: str
) -> None:
    """The turn goes on, and the store is left alone for 30 seconds, then caught up."""
    await stores.both.append("s", HELLO, 0)
    stores.short.failing = failing
    await stores.both.load("s")
    await stores.both.append("s", MORE, 2)
    assert await stores.both.load("s") == [*HELLO, *MORE]
    assert log.getvalue().count("the short-term session store is off: StoreError: the disk") == 1
    stores.short.failing = ""
    stores.time.now += PAUSE
    assert await stores.both.load("s") == [*HELLO, *MORE]
    assert await stores.short.load("s") == [*HELLO, *MORE]


async def test_sessions_that_meet_the_failure_together_cost_one_warning(
    stores: Stores, log: io.StringIO
) -> None:
    """A busy process does not fill its log."""

    class Slow(MemorySessionStore):
        async def load(self, id: str, after: int = 0) -> Rows:
            await asyncio.sleep(0)
            raise StoreError("no connection")

    both = LayeredSessionStore(Slow(), stores.long, Logger("test", "debug", log), stores.time)
    await asyncio.gather(*(both.load(f"s{n}") for n in range(5)))
    assert log.getvalue().count("is off") == 1


async def test_a_failing_long_term_store_fails_the_append(stores: Stores) -> None:
    """Nothing counts that it does not have."""
    stores.long.failing = "append"
    with pytest.raises(StoreError):
        await stores.both.append("s", HELLO, 0)
    assert await stores.short.load("s") == []


async def test_deleting_fails_if_it_did_not_happen_everywhere(stores: Stores) -> None:
    """Whoever asks for deletion must know when a copy is left, and can ask again."""

    class Stuck(MemorySessionStore):
        async def delete(self, id: str) -> None:
            raise StoreError("no connection")

    both = LayeredSessionStore(Stuck(), stores.long)
    await both.append("s", HELLO, 0, "ann")
    for deletion in (both.delete("s"), both.delete_user("ann")):
        with pytest.raises(StoreError):
            await deletion
    rows: Rows = await stores.long.load("s")
    assert rows == HELLO
