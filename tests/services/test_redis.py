"""What the Redis store does beyond the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis

from agentkit import Agent, Message, ScriptedProvider
from agentkit.errors import ConfigError, StoreConflict
from agentkit.session.redis_store import VERSION, RedisSessionStore
from agentkit.session.seal import is_sendable
from agentkit.session.store import TRIMMED, Row

from .servers import REDIS, redis_prefix

HELLO: list[Row] = [Message.user("hello"), Message.assistant("hi")]
Make = Callable[..., RedisSessionStore]


@pytest.fixture
def prefix(loopback: None) -> Iterator[str]:
    with redis_prefix() as prefix:
        yield prefix


@pytest.fixture
async def make(prefix: str) -> AsyncIterator[Make]:
    made: list[RedisSessionStore] = []

    def new(**settings: int) -> RedisSessionStore:
        made.append(RedisSessionStore(REDIS, prefix=prefix, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for store in made:
        await store.aclose()


async def ask(work: Callable[[Redis], Awaitable[Any]]) -> Any:
    """Ask the server something past the store."""
    async with Redis.from_url(REDIS) as client:
        return await work(client)


async def test_only_the_newest_rows_are_kept_and_indices_stay(make: Make) -> None:
    """The window begins with a question, and an append goes on at the whole length."""
    store = make(max_messages=3)
    await store.append("s", HELLO, 0)
    await store.append("s", HELLO, 2)
    await store.append("s", HELLO, 4)
    assert await store.load("s") == [TRIMMED] * 4 + HELLO
    assert await store.load("s", after=3) == [HELLO[1], *HELLO]
    assert [info.length for info in await store.list()] == [6]
    with pytest.raises(StoreConflict, match="expected 3 rows but the store has 6"):
        await store.append("s", HELLO, 3)


async def test_a_conversation_goes_on_over_what_was_trimmed(make: Make) -> None:
    """Another process, which has to read everything, sends a history that a provider takes."""
    for turn in range(6):
        provider = ScriptedProvider([f"answer {turn}"])
        agent = Agent(provider, store=make(max_messages=3))
        await agent.run(f"question {turn}", session="s")
        assert is_sendable(provider.requests[0].messages)
    texts = [message.text for message in provider.requests[0].messages]
    assert texts == ["question 4", "answer 4", "question 5"]


async def test_an_append_starts_the_time_to_live_again(make: Make, prefix: str) -> None:
    """For the rows and what is known of them."""
    store = make(ttl=100)
    await store.append("s", HELLO, 0, "ann")
    keys = [f"{prefix}:{key}" for key in ("rows:s", "meta:s", "sessions", "user:ann")]
    for key in keys:
        await ask(lambda client, key=key: client.expire(key, 5))  # type: ignore[misc]
    await store.append("s", HELLO, 2)
    for key in keys:
        left = await ask(lambda client, key=key: client.ttl(key))  # type: ignore[misc]
        assert left in (99, 100)


async def test_an_expired_session_is_gone(make: Make, prefix: str) -> None:
    """It is not listed any more, and its id begins again."""
    store = make()
    await store.append("s", HELLO, 0, "ann")
    await ask(lambda client: client.delete(f"{prefix}:rows:s", f"{prefix}:meta:s"))
    assert [await store.list(), await store.list("ann"), await store.load("s")] == [[], [], []]
    await store.append("s", HELLO[:1], 0)
    assert await store.load("s") == HELLO[:1]


async def test_rows_that_the_server_evicted_count_as_trimmed(make: Make, prefix: str) -> None:
    """A server that is short of memory may drop a key by itself."""
    store = make()
    await store.append("s", HELLO, 0)
    await ask(lambda client: client.delete(f"{prefix}:rows:s"))
    assert await store.load("s") == [TRIMMED, TRIMMED]
    await store.append("s", HELLO, 2)
    await ask(lambda client: client.delete(f"{prefix}:meta:s"))
    assert await store.load("s") == []
    await store.append("s", HELLO, 0)
    assert await store.load("s") == HELLO


async def test_a_newer_store_is_refused(make: Make, prefix: str) -> None:
    """What a later version wrote is not touched by an earlier one."""
    await ask(lambda client: client.set(f"{prefix}:version", VERSION + 1))
    with pytest.raises(ConfigError, match=rf"has version {VERSION + 1}.*update agentkit"):
        await make().append("s", HELLO, 0)


async def test_the_turn_of_another_process_is_waited_for(make: Make, prefix: str) -> None:
    """Until it ends, or its lease expires because the process is dead."""
    mine, theirs = make(), make()
    events: list[str] = []

    async def wait() -> None:
        async with theirs.turn("s"):
            events.append("theirs")

    async with mine.turn("s"):
        waiter = asyncio.create_task(wait())
        assert await ask(lambda client: client.pttl(f"{prefix}:turn:s")) in range(10_000, 15_001)
        events.append("mine")
    await waiter
    assert events == ["mine", "theirs"]
    async with mine.turn("s"):
        await ask(lambda client: client.pexpire(f"{prefix}:turn:s", 1))
        async with theirs.turn("s"):
            events.append("taken over")
    assert await ask(lambda client: client.exists(f"{prefix}:turn:s")) == 0
