"""The contract of session stores.

A store of the core joins by one line in `STORES`, any other by a module that imports all of this
and has a `make_store` of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ...errors import StoreConflict
from ...messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import (
    Compaction,
    MemorySessionStore,
    Row,
    Session,
    SessionStore,
    apply,
    row_from_json,
    row_to_json,
)
from .conversations import assistant, user

Clock = Callable[[], float]
MakeStore = Callable[[Path, Clock], SessionStore]

STORES: dict[str, MakeStore] = {
    "memory": lambda folder, clock: MemorySessionStore(clock),
    "sqlite": lambda folder, clock: SqliteSessionStore(folder / "sessions.db", clock),
}
HELLO = [user("hello"), assistant("hi")]
OPAQUE = Message(
    "assistant",
    (
        Thinking("hm", replay={"anthropic": {"signature": "EqQB+/=", "n": [1, None, 0.1, "é"]}}),
        Text("Xin chào 👋🏽 \u2028 \x00 ñ", replay={"google": {"sig": "c2ln"}}),
        ToolCall("c1", "t", {"z": 1, "a": {"nested": [True, None]}}, replay={"openai": "rs_1"}),
        ToolCall("c2", "t", {}, malformed='{"q": "a'),
    ),
)
RESULT = Message("tool", (ToolResult("c1", "t", (Text("r"), Image("image/png", "aGk=")), True),))


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(name="make_store", params=STORES)
def _make_store(request: pytest.FixtureRequest) -> MakeStore:  # stays here: a star leaves it out
    return STORES[request.param]


@pytest.fixture
async def store(make_store: MakeStore, tmp_path: Path, time: Time) -> AsyncIterator[SessionStore]:
    made = make_store(tmp_path, time)
    yield made
    await made.aclose()


async def test_rows_come_back_in_order(store: SessionStore) -> None:
    """What was appended is loaded, equal and in order."""
    rows: list[Row] = [*HELLO, OPAQUE, RESULT]
    await store.append("s", rows[:1], 0)
    await store.append("s", rows[1:], 1)
    assert await store.load("s") == rows


async def test_only_newer_rows_are_loaded(store: SessionStore) -> None:
    """A turn asks for what it does not have yet."""
    await store.append("s", HELLO, 0)
    assert await store.load("s", after=1) == HELLO[1:]
    assert await store.load("s", after=2) == []


async def test_an_unknown_session_is_empty(store: SessionStore) -> None:
    """It begins with its first append."""
    assert await store.load("nobody") == []


async def test_sessions_are_apart(store: SessionStore) -> None:
    """Rows of one session are not seen in another."""
    await store.append("a", HELLO, 0)
    await store.append("b", HELLO[:1], 0)
    assert len(await store.load("b")) == 1


@pytest.mark.parametrize("at", [0, 1, 3])
async def test_an_append_at_a_wrong_length_is_a_conflict(store: SessionStore, at: int) -> None:
    """Nothing is written, and both numbers are said."""
    await store.append("s", HELLO, 0)
    with pytest.raises(StoreConflict, match=f"expected {at} rows but the store has 2"):
        await store.append("s", [user("x")], at)
    assert await store.load("s") == HELLO


async def test_of_many_appends_at_the_same_length_one_wins(store: SessionStore) -> None:
    """Two writers that read the same state cannot both go on from it."""
    appends = [store.append("s", [user(str(n))], 0) for n in range(20)]
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(StoreConflict) == 19
    assert len(await store.load("s")) == 1


async def test_a_cancelled_append_is_whole_or_absent(store: SessionStore) -> None:
    """Wherever the cancellation strikes, no half of it is stored, and the session goes on."""
    for rounds in range(12):
        at = len(await store.load("s"))
        task = asyncio.create_task(store.append("s", [*HELLO, *HELLO], at))
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    rows = await store.load("s")
    assert rows == HELLO * (len(rows) // 4 * 2)
    await store.append("s", HELLO, len(rows))


async def test_many_sessions_append_at_once(store: SessionStore) -> None:
    """Each gets its own rows, all of them, in order."""

    async def converse(id: str) -> None:
        for at in range(5):
            await store.append(id, [user(f"{id} {at}")], at)

    await asyncio.gather(*(converse(f"s{n}") for n in range(100)))
    for n in range(100):
        assert await store.load(f"s{n}") == [user(f"s{n} {at}") for at in range(5)]


async def test_an_append_of_nothing_writes_nothing(store: SessionStore) -> None:
    """The length is checked all the same."""
    await store.append("s", [], 0)
    assert await store.list() == []
    with pytest.raises(StoreConflict):
        await store.append("s", [], 1)


async def test_opaque_data_survives_byte_for_byte(store: SessionStore) -> None:
    """What a provider wants back unchanged is stored unchanged."""
    await store.append("s", [OPAQUE, RESULT], 0)
    loaded = await store.load("s")
    assert [row_to_json(row) for row in loaded] == [OPAQUE.to_json(), RESULT.to_json()]


async def test_any_text_is_an_id(store: SessionStore) -> None:
    """Ids are values, not code or paths."""
    for id in ("Bùi Thị", "a'; DROP TABLE sessions; --", "../../x", "%", ""):
        await store.append(id, [user(id)], 0)
        assert await store.load(id) == [user(id)]


async def test_ten_thousand_messages_come_back(store: SessionStore) -> None:
    """A long conversation is no special case."""
    rows: list[Row] = [user(f"message {n}") for n in range(10_000)]
    await store.append("s", rows, 0)
    await store.append("s", HELLO, 10_000)
    assert await store.load("s") == [*rows, *HELLO]


async def test_a_compaction_is_a_row(store: SessionStore) -> None:
    """It replaces the working history, the rows before it stay."""
    await store.append("s", HELLO, 0)
    await store.append("s", [Compaction((user("short"), OPAQUE)), user("next")], 2)
    session = Session("s")
    apply(session, await store.load("s"))
    assert session.messages == [user("short"), OPAQUE, user("next")]
    assert session.stored == 4


async def test_a_deleted_session_is_gone(store: SessionStore) -> None:
    """Its id can begin again; deleting it twice is no error."""
    await store.append("s", HELLO, 0)
    await store.delete("s")
    await store.delete("s")
    assert await store.load("s") == []
    assert await store.list() == []
    await store.append("s", HELLO[:1], 0)
    assert await store.load("s") == HELLO[:1]


async def test_deleting_a_user_deletes_that_users_sessions(store: SessionStore) -> None:
    """All of them, and nobody else's."""
    await store.append("a", HELLO, 0, user_id="ann")
    await store.append("b", HELLO, 0, user_id="bob")
    await store.append("c", HELLO, 0)
    await store.append("d", HELLO[:1], 0)
    await store.append("d", HELLO[1:], 1, user_id="ann")
    await store.delete_user("ann")
    await store.delete_user("nobody")
    assert sorted(info.id for info in await store.list()) == ["b", "c"]
    assert [await store.load(id) for id in "abcd"] == [[], HELLO, HELLO, []]


async def test_sessions_are_listed_newest_first(store: SessionStore, time: Time) -> None:
    """With their length in rows and their last change in UTC."""
    await store.append("old", HELLO, 0)
    time.now += 60
    await store.append("new", HELLO[:1], 0)
    time.now += 60
    await store.append("old", HELLO, 2)
    infos = await store.list()
    assert [(info.id, info.length) for info in infos] == [("old", 4), ("new", 1)]
    assert infos[0].updated == datetime.fromtimestamp(time.now, UTC)


async def test_sessions_are_listed_by_user(store: SessionStore) -> None:
    """A session belongs to the user of its first append that named one."""
    await store.append("a", HELLO, 0, user_id="ann")
    await store.append("b", HELLO, 0, user_id="bob")
    await store.append("c", HELLO, 0)
    await store.append("a", HELLO, 2, user_id="bob")
    await store.append("c", HELLO, 2, user_id="ann")
    assert [info.id for info in await store.list("ann")] == ["a", "c"]
    assert [info.id for info in await store.list("bob")] == ["b"]
    assert len(await store.list()) == 3


async def test_turns_of_a_session_come_one_at_a_time_in_order(store: SessionStore) -> None:
    """Whoever came first goes first."""
    events: list[str] = []

    async def take(name: str) -> None:
        async with store.turn("s"):
            events.append(f"{name} in")
            await asyncio.sleep(0)
            events.append(f"{name} out")

    await asyncio.gather(*(take(name) for name in "abc"))
    assert events == ["a in", "a out", "b in", "b out", "c in", "c out"]


async def test_turns_of_different_sessions_do_not_wait(store: SessionStore) -> None:
    """One slow session holds up no other."""
    async with store.turn("a"), store.turn("b"):
        pass


async def test_a_turn_that_fails_is_free_again(store: SessionStore) -> None:
    """The error passes and the next one gets the session."""
    with pytest.raises(RuntimeError, match="broken"):
        async with store.turn("s"):
            raise RuntimeError("broken")
    async with store.turn("s"):
        pass


async def test_a_cancelled_waiter_leaves_the_queue(store: SessionStore) -> None:
    """It is not waited for, and those behind it get their turn."""
    got: list[str] = []

    async def take(name: str) -> None:
        async with store.turn("s"):
            got.append(name)

    async with store.turn("s"):
        waiters = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0)
        waiters[0].cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*waiters, return_exceptions=True)
    assert got == ["b", "c"]
    assert waiters[0].cancelled()


async def test_a_turn_cancelled_while_it_is_taken_is_free_again(store: SessionStore) -> None:
    """Wherever the cancellation strikes, nothing stays locked."""

    async def take() -> None:
        async with store.turn("s"):
            await asyncio.Event().wait()

    for rounds in range(4):
        task = asyncio.create_task(take())
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with store.turn("s"):
        pass


def test_a_store_serves_several_event_loops_one_after_another(
    make_store: MakeStore, tmp_path: Path
) -> None:
    """A script may call `asyncio.run` more than once, with waiters each time."""
    store = make_store(tmp_path, Time())

    async def converse(at: int) -> None:
        async def take(n: int) -> None:
            async with store.turn("s"):
                await store.append("s", [user("x")], at + n)

        await asyncio.gather(*(take(n) for n in range(3)))
        await store.aclose()

    asyncio.run(converse(0))
    asyncio.run(converse(3))

    async def finish() -> int:
        rows = await store.load("s")
        await store.aclose()
        return len(rows)

    assert asyncio.run(finish()) == 6


def test_a_row_that_is_no_row_is_refused() -> None:
    """What is not a message or a compaction raises `ValueError`."""
    for data in (b"", b"{}", b'{"compaction":[{}]}', b'{"compaction":[', b"[1]"):
        with pytest.raises(ValueError, match=r"."):
            row_from_json(data)


def test_sessions_made_of_messages_have_ids_of_their_own() -> None:
    """The list is copied, so that two sessions share nothing."""
    first, second = Session.of(HELLO), Session.of(HELLO, user_id="ann", metadata={"plan": "pro"})
    assert first.id != second.id
    first.messages.append(user("more"))
    assert second.messages == HELLO
    assert (second.user_id, second.metadata, second.stored) == ("ann", {"plan": "pro"}, 0)
