"""Sessions that a caller made: with messages from elsewhere, from a result, for another agent."""

from __future__ import annotations

from ...agent.agent import Agent
from ...messages import Message, Text, Thinking, ToolCall
from ...session.store import Compaction, Session
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls
from .words import LOOK_UP, STRICT, get_word, sent, sent_roles, texts

OPEN_CALL = Message("assistant", (ToolCall("c1", "get_word", {}),))


async def test_an_assembled_session_begins_with_its_messages(requester: MakeRequester) -> None:
    """`Session.of` continues a conversation from elsewhere; the store gets all of it once."""
    given = [Message.user("a"), Message.assistant("b")]
    with FakeChat(["d", "f"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        session = Session.of(given, user_id="ann")
        await agent.run("c", session)
        await agent.run("e", session)
        rows = await agent.store.load(session.id)
        (info,) = await agent.store.list("ann")
    assert texts(fake) == ["a", "b", "c", "d", "e"]
    assert [row.text for row in rows if isinstance(row, Message)] == list("abcdef")
    assert (info.id, info.length) == (session.id, 6)
    assert len(given) == 2


async def test_an_assembled_session_is_stored_once_in_a_turn_of_many_steps(
    requester: MakeRequester,
) -> None:
    """The first append of the turn brings it, the others only what is new."""
    with FakeChat([calls(LOOK_UP), "Everywhere."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        session = Session.of([Message.user("a"), Message.assistant("b")])
        await agent.run("What is ubiquitous?", session)
    assert await agent.store.load(session.id) == agent.get_history(session)


async def test_an_assembled_session_that_is_broken_is_repaired(requester: MakeRequester) -> None:
    """An open call and an empty turn are mended before they are sent, and in the store."""
    empty = Message("assistant", (Text(""),))
    given = [Message.user("a"), OPEN_CALL, empty, Message.user("b"), Message.assistant("x")]
    with FakeChat(["ok", "ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        session = Session.of(given)
        await agent.run("c", session)
        rows = await agent.store.load(session.id)
        other = Agent(requester(fake), store=agent.store)
        await other.run("d", session.id)
    assert sent_roles(fake, 0) == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert "interrupted" in sent(fake, 0)[2]["content"]
    assert [type(row) for row in rows] == [Compaction, Message, Message]
    assert sent(fake, 1)[:6] == sent(fake, 0)


async def test_the_history_of_a_result_can_be_gone_on_with(requester: MakeRequester) -> None:
    """Its system prompt is not sent twice by an agent that has its own."""
    with FakeChat(["1", "2", "3"], rules=STRICT) as fake:
        agent = Agent(requester(fake), system_prompt="Be brief.")
        result = await agent.run("a")
        session = Session.of(result.history)
        await agent.run("b", session)
        await agent.run("c", session)
    assert texts(fake, 1) == ["Be brief.", "a", "1", "b"]
    assert texts(fake, 2) == ["Be brief.", "a", "1", "b", "2", "c"]


async def test_the_system_prompt_of_a_session_stays_where_the_agent_has_none(
    requester: MakeRequester,
) -> None:
    """It is sent at every turn, also after a restart."""
    with FakeChat(["1", "2", "3"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        session = Session.of([Message.system("Be brief.")])
        await agent.run("a", session)
        await agent.run("b", session)
        await Agent(requester(fake), store=agent.store).run("c", session.id)
    assert texts(fake) == ["Be brief.", "a", "1", "b", "2", "c"]


async def test_a_session_can_be_handed_to_an_agent_with_another_store(
    requester: MakeRequester,
) -> None:
    """It brings its messages along."""
    session = Session.of()
    with FakeChat(["1", "2"], rules=STRICT) as fake:
        await Agent(requester(fake)).run("a", session)
        other = Agent(requester(fake))
        await other.run("b", session)
        rows = await other.store.load(session.id)
    assert texts(fake) == ["a", "1", "b"]
    assert len(rows) == 4


async def test_thoughts_without_an_answer_are_not_kept_as_a_turn(
    requester: MakeRequester,
) -> None:
    """A session that ends with mere thoughts can be gone on with."""
    given = [Message.user("a"), Message("assistant", (Thinking("hm"),))]
    with FakeChat(["ok"], rules=STRICT) as fake:
        await Agent(requester(fake)).run("b", Session.of(given))
    assert sent_roles(fake) == ["user"]
