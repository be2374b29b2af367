"""Stores that fail or do not answer: an error or a cancelled turn, never a broken conversation."""

from __future__ import annotations

import asyncio

import pytest

from ...agent.agent import Agent
from ...errors import StoreConflict, StoreError
from ...messages import Message
from ...session.store import Session
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls
from .unreliable_store import UnreliableStore
from .words import LOOK_UP, STRICT, get_word, texts


async def test_a_store_that_cannot_be_read_costs_no_request(requester: MakeRequester) -> None:
    """Nothing is sent without the history that belongs to it."""
    store = UnreliableStore()
    with FakeChat(["ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake), store=store)
        store.failing = "load"
        with pytest.raises(StoreError, match="disk is full"):
            await agent.run("a")
        store.failing = ""
        await agent.run("b")
    assert texts(fake) == ["b"]


async def test_tools_do_not_run_before_their_calls_are_stored(requester: MakeRequester) -> None:
    """A store that fails ends the run before anything follows from what it could not keep."""
    store = UnreliableStore()
    with FakeChat([calls(LOOK_UP), "ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word], store=store)
        store.failing = "append"
        with pytest.raises(StoreError):
            await agent.run("a")
        assert await store.load("default") == []
        store.failing = ""
        await agent.run("b")
    assert texts(fake) == ["b"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("assembled", [False, True])
async def test_an_append_that_was_cut_off_is_neither_lost_nor_doubled(
    requester: MakeRequester, late: bool, assembled: bool
) -> None:
    """Whether the store got it or not, the next turn goes on with what the store has."""
    store = UnreliableStore()
    store.late, store.hanging = late, "append"
    given = [Message.user("a"), Message.assistant("1")]
    session = Session.of(given) if assembled else "s"
    with FakeChat(["2", "3"], rules=STRICT) as fake:
        agent = Agent(requester(fake), store=store)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await agent.run("b", session)
        store.hanging = ""
        await agent.run("c", session)
    before = ["a", "1"] if assembled else []
    assert texts(fake) == [*before, *(["b", "2"] if late else []), "c"]


async def test_a_turn_that_somebody_else_took_over_is_a_conflict(requester: MakeRequester) -> None:
    """A turn that lost its session stores nothing, and the next one reads what is there."""
    store = UnreliableStore()
    with FakeChat(["1", "2"], rules=STRICT) as fake:
        agent = Agent(requester(fake), store=store)
        events = agent.stream("a", "s")
        await anext(events)
        await store.append("s", [Message.user("x"), Message.assistant("y")], 0)
        with pytest.raises(StoreConflict, match="somebody else appended first"):
            async for _ in events:
                pass
        await agent.run("b", "s")
    assert texts(fake) == ["x", "y", "b"]
