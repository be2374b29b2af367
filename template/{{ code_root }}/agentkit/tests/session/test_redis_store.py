"""What needs no server; test_redis_contract.py has the rest."""

from __future__ import annotations

import asyncio

import pytest

from ...errors import ConfigError, StoreError
from ...messages import Message, Text, ToolCall, ToolResult
from ...session.redis_store import RedisSessionStore, _window
from ...session.store import TRIMMED, Compaction, Row
from .conversations import assistant, user

CALL = Message("assistant", (ToolCall("c", "t", {}),))
RESULT = Message("tool", (ToolResult("c", "t", (Text("r"),)),))
MARKER = Compaction((user("short"),))


@pytest.mark.parametrize(
    ("left", "kept"),
    [
        ([user("q"), assistant("a")], 2),
        ([assistant("a"), user("q")], 1),
        ([RESULT, assistant("a"), user("q"), CALL], 2),
        ([assistant("a"), MARKER, CALL], 2),
        ([CALL, RESULT], 2),  # one long turn: sealed when it is read
    ],
)
def test_a_trimmed_session_begins_with_a_question(left: list[Row], kept: int) -> None:
    """What answers something that is gone is dropped, and indices stay as they were."""
    rows = _window(left, 7)
    assert len(rows) == 7 + len(left)
    assert rows[-kept:] == left[-kept:]
    assert rows[:-kept] == [TRIMMED] * (7 + len(left) - kept)


def test_a_limit_that_leaves_nothing_is_refused() -> None:
    """None is how to say that there is no limit."""
    with pytest.raises(ConfigError, match=r"ttl is 0: use a number of at least 0\.001, or None"):
        RedisSessionStore("redis://localhost", ttl=0)
    with pytest.raises(ConfigError, match="max_messages is 0: use a number of at least 1"):
        RedisSessionStore("redis://localhost", max_messages=0)


async def test_a_server_that_is_not_there_is_one_clear_error(loopback: None) -> None:
    """After three attempts, with the address and without the password."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    store = RedisSessionStore("redis://ann:hunter22@127.0.0.1:1/0", sleep=sleep)
    with pytest.raises(StoreError, match=r"^session store redis://127\.0\.0\.1:1/0: ") as caught:
        await store.load("s")
    await store.aclose()
    assert "\n" not in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert len(slept) == 2
