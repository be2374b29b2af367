"""Sessions: what a turn reads and stores, and what the next one finds, whatever happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ...agent.agent import SESSIONS_KEPT, Agent
from ...errors import AuthenticationFailed, LlmError, Overloaded
from ...messages import Message, ToolCall
from ...session.sqlite_store import SqliteSessionStore
from ...session.store import MemorySessionStore, Session
from ..chat_replies import Reply
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, answer, calls, status
from .unreliable_store import UnreliableStore
from .words import KEY, LOOK_UP, STRICT, get_word, roles, sent, sent_roles, texts


async def test_sessions_know_nothing_of_each_other(requester: MakeRequester) -> None:
    """Each id is a conversation; none at all is the agent's own."""
    with FakeChat(["1", "2", "3", "4"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        await agent.run("a", "ann")
        await agent.run("b", "bob")
        await agent.run("c")
        await agent.run("d", "ann")
    assert texts(fake, 1) == ["b"]
    assert texts(fake, 2) == ["c"]
    assert texts(fake, 3) == ["a", "1", "d"]
    assert [message.text for message in agent.get_history("bob")] == ["b", "2"]


async def test_two_runs_at_once_on_a_session_take_turns(requester: MakeRequester) -> None:
    """The second waits, and answers to what the first one said."""
    script: list[Reply] = [calls(LOOK_UP), "first", calls(LOOK_UP), "second", "third"]
    with FakeChat(script, rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        results = await asyncio.gather(agent.run("a"), agent.run("b"), agent.run("c"))
    assert [result.text for result in results] == ["first", "second", "third"]
    turn = ["user", "assistant", "tool", "assistant"]
    assert roles(agent.get_history()) == [*turn, *turn, "user", "assistant"]


async def test_many_sessions_run_side_by_side(requester: MakeRequester) -> None:
    """A hundred at once all end, and no message strays into another conversation."""
    with FakeChat(["ok"] * 200, rules=STRICT) as fake:
        agent = Agent(requester(fake))
        names = [f"s{number}" for number in range(100)]
        await asyncio.gather(*(agent.run(f"{name} first", name) for name in names))
        await asyncio.gather(*(agent.run(f"{name} then", name) for name in names))
    said = {tuple(texts(fake, number)) for number in range(100, 200)}
    assert said == {(f"{name} first", "ok", f"{name} then") for name in names}


async def test_a_turn_asks_the_store_for_nothing_old(requester: MakeRequester) -> None:
    """Beside what is new, only the last known row is read: to see that it is still there."""
    store = UnreliableStore()
    with FakeChat([calls(LOOK_UP), "1", "2", "3"], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word], store=store)
        for text in "abc":
            await agent.run(text, "s")
    assert store.asked == [("s", 0), ("s", 3), ("s", 5)]


async def test_only_sessions_in_use_are_kept_in_memory() -> None:
    """The agent keeps a bounded number, those used last; the store has the others."""
    store = UnreliableStore()
    agent = Agent("chat://offline/echo", store=store)
    agent.ctx.observers.clear()
    names = [f"s{number}" for number in range(SESSIONS_KEPT)]
    for name in ["old", "used", *names[:-1], "used", names[-1], "used", "old"]:
        await agent.run("Hi", name)
    assert [after for id, after in store.asked if id == "used"] == [0, 1, 3]
    assert [after for id, after in store.asked if id == "old"] == [0, 0]
    assert [message.text for message in agent.get_history("old")] == ["Hi", "You said: Hi"] * 2


@pytest.mark.parametrize("replies", [[status(401)], [status(503)] * 3])
async def test_a_turn_that_fails_before_the_first_reply_leaves_no_trace(
    requester: MakeRequester, replies: list[Any]
) -> None:
    """The error is raised, and the next request begins as if nothing had been asked."""
    with FakeChat(["one", *replies, "two"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        await agent.run("a")
        with pytest.raises((AuthenticationFailed, Overloaded)):
            await agent.run("b")
        assert len(agent.get_history()) == 2
        await agent.run("c")
    assert texts(fake) == ["a", "one", "c"]


@pytest.mark.checklist("agent")
async def test_a_turn_that_fails_later_keeps_what_was_done(requester: MakeRequester) -> None:
    """Calls that ran and their results stay, so the next run need not repeat them."""
    with FakeChat([calls(LOOK_UP), status(400), "Everywhere."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        with pytest.raises(LlmError) as raised:
            await agent.run("What is ubiquitous?")
        await agent.run("Go on")
    assert roles(raised.value.messages) == ["assistant", "tool"]
    assert sent_roles(fake) == ["user", "assistant", "tool", "user"]


async def test_a_call_that_was_left_open_is_answered_in_the_store_as_well(
    requester: MakeRequester,
) -> None:
    """The answer that is made up for it is a row like any other, in its place."""
    store = MemorySessionStore()
    left = Message("assistant", (ToolCall("c1", "get_word", {}),))
    await store.append("s", [Message.user("a"), left], 0)
    with FakeChat(["ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake), store=store)
        await agent.run("b", "s")
    assert roles(agent.get_history("s")) == ["user", "assistant", "tool", "user", "assistant"]
    assert await store.load("s") == agent.get_history("s")


async def test_an_empty_reply_leaves_no_trace(requester: MakeRequester) -> None:
    """A model that says nothing ends the run as empty, and the next question is accepted."""
    with FakeChat([answer(""), "Hello!"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        assert (await agent.run("a")).finish_reason == "empty"
        await agent.run("b")
    assert texts(fake) == ["b"]


@pytest.mark.checklist("agent")
async def test_a_restarted_process_sends_the_same_bytes(
    requester: MakeRequester, tmp_path: Path
) -> None:
    """Read back from SQLite, the history is equal and is sent byte for byte as before, with what
    the provider wants returned unchanged."""
    thought = {"reasoning_content": "Ünïcode thoughts 🌍, 1.0e3"}
    first = answer("Everywhere.", extra=thought)
    script: list[Reply] = [calls(LOOK_UP, text="Let me see"), first, "Bye.", "Bye."]
    rules = type(STRICT)("max_tokens", message_fields=frozenset(thought))
    with FakeChat(script, rules=rules) as fake:
        llm = requester(fake, f"deepseek/m{KEY}")
        before = Agent(llm, tools=[get_word], store=SqliteSessionStore(tmp_path / "s.db"))
        await before.run("What is ubiquitous? Nghĩa là gì?", "s1")
        kept = before.get_history("s1")
        after = Agent(llm, tools=[get_word], store=SqliteSessionStore(tmp_path / "s.db"))
        await after.run("Thanks", "s1")
        await Agent(llm, tools=[get_word]).run("Thanks", Session.of(kept))
        for agent in (before, after):
            await agent.store.aclose()
    assert after.get_history("s1")[:4] == kept
    assert sent(fake)[3]["reasoning_content"] == thought["reasoning_content"]
    assert fake.bodies[-1] == fake.bodies[-2]


async def test_agents_over_one_store_go_on_with_each_others_turns(
    requester: MakeRequester,
) -> None:
    """A turn reads what somebody else appended since the last one."""
    store = MemorySessionStore()
    with FakeChat(["1", "2", "3"], rules=STRICT) as fake:
        one, two = Agent(requester(fake), store=store), Agent(requester(fake), store=store)
        await one.run("a", "s")
        await two.run("b", "s")
        await one.run("c", "s")
    assert texts(fake) == ["a", "1", "b", "2", "c"]


@pytest.mark.parametrize("others", [0, 1, 3])
async def test_a_deleted_session_starts_over(requester: MakeRequester, others: int) -> None:
    """Also when somebody else began it anew meanwhile: what was deleted is never sent again."""
    store = MemorySessionStore()
    with FakeChat(["1", "2", *("x" * others), "3"], rules=STRICT) as fake:
        agent, other = Agent(requester(fake), store=store), Agent(requester(fake), store=store)
        await agent.run("secret", "s")
        await agent.run("more", "s")
        await store.delete("s")
        for number in range(others):
            await other.run(f"new {number}", "s")
        await agent.run("Hi", "s")
    assert texts(fake)[-1] == "Hi"
    assert len(texts(fake)) == 2 * others + 1
    assert "secret" not in texts(fake)
