"""What the PostgreSQL store does beyond the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from agentkit import Message
from agentkit.errors import ConfigError, StoreError
from agentkit.session import postgres_server
from agentkit.session.postgres_store import PostgresSessionStore
from agentkit.session.store import Row
from agentkit.tests.session.live_postgres import execute

from .servers import postgres_url

HELLO: list[Row] = [Message.user("hello"), Message.assistant("hi")]


@pytest.fixture
def url(loopback: None) -> Iterator[str]:
    with postgres_url() as url:
        yield url


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresSessionStore]:
    made = PostgresSessionStore(url)
    yield made
    await made.aclose()


async def test_many_processes_make_the_tables_once(url: str) -> None:
    """All that start at the same time find the database empty."""
    stores = [PostgresSessionStore(url) for _ in range(4)]
    await asyncio.gather(*(s.append(str(n), HELLO, 0) for n, s in enumerate(stores)))
    assert len(await stores[0].list()) == 4
    await asyncio.gather(*(s.aclose() for s in stores))


async def test_older_tables_are_upgraded(
    store: PostgresSessionStore, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version adds its steps to what is there, loses nothing, and locks the old one out."""
    await store.append("s", HELLO, 0)
    await store.aclose()
    steps = (*postgres_server.STEPS, ("ALTER TABLE agentkit_sessions ADD COLUMN title text",))
    with monkeypatch.context() as later:
        later.setattr(postgres_server, "STEPS", steps)
        assert await store.load("s") == HELLO
        await store.aclose()
    assert await execute(url, "UPDATE agentkit_sessions SET title = 'x'") == 1
    with pytest.raises(ConfigError, match=rf"have version {len(steps)}.*update agentkit"):
        await store.load("s")


async def test_a_damaged_row_is_one_clear_error(store: PostgresSessionStore, url: str) -> None:
    """The error says which row."""
    await store.append("s", HELLO, 0)
    await execute(url, "UPDATE agentkit_rows SET json = '{}' WHERE position = 1")
    with pytest.raises(StoreError, match='session "s": row 1 is damaged'):
        await store.load("s")


async def test_an_error_of_the_server_says_nothing_of_the_conversation(
    store: PostgresSessionStore, url: str
) -> None:
    """One line, without the statement and its values."""
    await store.list()
    await execute(url, "DROP TABLE agentkit_rows")
    with pytest.raises(StoreError) as caught:
        await store.append("s", [Message.user("my secret")], 0)
    expected = 'relation "agentkit_rows" does not exist'
    assert str(caught.value).endswith(expected)
    assert "\n" not in str(caught.value)
    assert "my secret" not in str(caught.value.__cause__)


async def test_connections_that_the_server_closed_are_renewed(url: str) -> None:
    """An administrator, a restart or a proxy may close them: the next use does not notice."""
    name = url.rpartition("=")[2]
    store = PostgresSessionStore(f"{url}&application_name={name}")
    await store.append("s", HELLO, 0)
    kill = (
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
    )
    assert await execute(url, kill) == 1
    await store.append("s", HELLO, 2)
    assert len(await store.load("s")) == 4
    await store.aclose()


async def test_the_turn_of_another_process_is_waited_for(
    store: PostgresSessionStore, url: str
) -> None:
    """Until it ends, or its lease expires because the process is dead."""
    other = PostgresSessionStore(url)
    events: list[str] = []

    async def wait() -> None:
        async with other.turn("s"):
            events.append("theirs")

    async with store.turn("s"):
        waiter = asyncio.create_task(wait())
        await other.list()
        events.append("mine")
    await waiter
    assert events == ["mine", "theirs"]
    async with store.turn("s"):
        await execute(url, "UPDATE agentkit_leases SET expires = now() - interval '1 second'")
        async with other.turn("s"):
            events.append("taken over")
    assert await execute(url, "DELETE FROM agentkit_leases") == 0
    await other.aclose()
