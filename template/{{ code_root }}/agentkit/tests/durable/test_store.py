"""The store of a run that may be gone through twice."""

from __future__ import annotations

import pytest

from ...durable.steps import Steps, current_steps
from ...durable.store import DurableStore
from ...errors import StoreConflict
from ...messages import Message, ToolCall
from ...observability.logger import Logger
from ...session.store import Compaction, MemorySessionStore, Row

BEFORE = [Message.user("one"), Message.assistant("two")]
ASKED: list[Row] = [Message.user("three"), Message("assistant", (ToolCall("1", "look_up"),))]


@pytest.fixture
async def inner() -> MemorySessionStore:
    """What a run has left that died after its first append."""
    store = MemorySessionStore()
    await store.append("s", [*BEFORE, *ASKED], 0)
    return store


@pytest.fixture
def store(inner: MemorySessionStore) -> DurableStore:
    """The same store, as the run sees it."""
    return DurableStore(inner)


def begin_again(logger: Logger) -> Steps:
    """Begin a run again whose session had two rows when it began first."""
    steps = Steps(lambda call: True, lambda: False, logger)
    steps.rows["s"] = len(BEFORE)
    current_steps.set(steps)
    return steps


async def test_the_session_is_as_it_was_when_the_run_began(
    store: DurableStore, logger: Logger
) -> None:
    """What the run itself has stored is not there yet."""
    begin_again(logger)
    assert await store.load("s") == BEFORE
    assert await store.load("s", 1) == BEFORE[1:]
    assert await store.load("s", 3) == []


async def test_what_is_there_already_is_not_stored_again(
    store: DurableStore, inner: MemorySessionStore, logger: Logger
) -> None:
    """The append succeeds, nothing changes, and from now on the run sees it."""
    begin_again(logger)
    await store.append("s", ASKED, 2)
    assert await inner.load("s") == [*BEFORE, *ASKED] == await store.load("s")


async def test_a_run_goes_on_behind_what_it_had_stored(
    store: DurableStore, inner: MemorySessionStore, logger: Logger
) -> None:
    """The next append is a new one; a compaction is a row like any other."""
    begin_again(logger)
    await store.append("s", ASKED, 2)
    new: list[Row] = [Message.assistant("four"), Compaction(tuple(BEFORE))]
    await store.append("s", new, 4)
    assert (await inner.load("s", 4)) == new == await store.load("s", 4)


async def test_what_somebody_else_stored_is_a_conflict(
    store: DurableStore, inner: MemorySessionStore, logger: Logger
) -> None:
    """Half of the rows being the same is not enough."""
    begin_again(logger)
    with pytest.raises(StoreConflict):
        await store.append("s", [ASKED[0], Message.assistant("something else")], 2)
    assert await inner.load("s", 2) == ASKED


async def test_outside_of_a_run_it_is_the_store_that_it_wraps(store: DurableStore) -> None:
    """It shows all rows and refuses to store any twice."""
    assert await store.load("s", 2) == ASKED
    with pytest.raises(StoreConflict):
        await store.append("s", ASKED, 2)
    await store.delete("s")
    assert await store.list() == []
