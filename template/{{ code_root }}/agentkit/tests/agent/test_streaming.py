"""What `stream` yields, in which order, and what holds when nobody reads it to the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest

from ...agent.agent import Agent
from ...llm.events import (
    Appended,
    ApprovalNeeded,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from ...messages import Message, ToolCall
from ...session.store import MemorySessionStore
from ...tools.tool import Tool, tool
from ..chat_replies import Reply
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls, status, truncated_sse
from .words import LOOK_UP, STRICT, get_word, roles, sent_roles

HANG = 86_400.0  # seconds


def kinds(events: Sequence[Event]) -> list[str]:
    """Return the names of events, deltas of one reply as one."""
    names = [type(event).__name__ for event in events]
    return [
        name
        for index, name in enumerate(names)
        if name != "TextDelta" or index == 0 or names[index - 1] != name
    ]


async def test_events_come_in_the_order_of_what_happens(requester: MakeRequester) -> None:
    """Text, the reply, its tools, their results, the next text, the next reply, the result."""
    script: list[Reply] = [calls(LOOK_UP, text="Let me see"), "Everywhere."]
    with FakeChat(script, rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        events = [event async for event in agent.stream("What is ubiquitous?")]
    assert kinds(events) == [
        *("TextDelta", "Appended", "ToolStarted", "ToolFinished", "Appended"),
        *("TextDelta", "Appended", "Finished"),
    ]
    appended = [event.messages for event in events if isinstance(event, Appended)]
    first, second, third = map(roles, appended)
    assert (first, second, third) == (["user", "assistant"], ["tool"], ["assistant"])
    assert sum(appended, ()) == tuple(agent.get_history())


async def test_what_is_appended_is_stored_before_anything_follows(
    requester: MakeRequester,
) -> None:
    """When a tool starts, the store has its call; when the model is asked, it has the results."""
    store = MemorySessionStore()
    stored: list[int] = []
    with FakeChat([calls(LOOK_UP), "Everywhere."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word], store=store)
        async for event in agent.stream("What is ubiquitous?", "s"):
            if isinstance(event, Appended | ToolStarted | TextDelta | Finished):
                stored.append(len(await store.load("s")))
    assert stored == [2, 2, 3, 3, 3, 3, 4, 4]


async def test_run_returns_what_stream_ends_with(requester: MakeRequester) -> None:
    """Both ways give the same result, but `run` asks the server for no stream."""
    script: list[Reply] = [calls(LOOK_UP), "Everywhere."]
    with FakeChat(script * 2, rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        returned = await agent.run("What is ubiquitous?", "a")
        events = [event async for event in agent.stream("What is ubiquitous?", "b")]
    assert isinstance(events[-1], Finished)
    streamed = events[-1].result
    assert (streamed.text, streamed.finish_reason) == (returned.text, returned.finish_reason)
    assert (streamed.usage, streamed.model) == (returned.usage, returned.model)
    assert streamed.estimated_cost == returned.estimated_cost
    assert [m.role for m in streamed.history] == [m.role for m in returned.history]
    assert ["stream" in request for request in fake.requests] == [False, False, True, True]


async def test_a_retry_voids_the_deltas_of_its_own_call_only(requester: MakeRequester) -> None:
    """What an earlier step said stays said; the text that broke off is sent anew."""
    script: list[Reply] = [calls(LOOK_UP, text="Let me see"), truncated_sse, "It means everywhere."]
    with FakeChat(script, rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[get_word])
        said = current = ""
        async for event in agent.stream("What is ubiquitous?"):
            if isinstance(event, TextDelta):
                current += event.text
            elif isinstance(event, Retrying):
                assert current, "the fault comes after some text"
                current = ""
            elif isinstance(event, Appended):
                said, current = said + current, ""
    assert said == "Let me seeIt means everywhere."
    assert "".join(m.text for m in agent.get_history() if m.role == "assistant") == said


async def test_a_failure_reaches_the_one_who_reads(requester: MakeRequester) -> None:
    """A stream that cannot start raises, it does not just end."""
    with FakeChat([status(401)]) as fake:
        events = Agent(requester(fake)).stream("Hi")
        with pytest.raises(Exception, match="401"):
            await anext(events)


async def test_an_abandoned_stream_lets_go_of_everything(requester: MakeRequester) -> None:
    """The tool is cancelled, the session is free, and the next request is accepted."""
    cancelled: list[str] = []

    @tool
    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.sleep(HANG)
        except asyncio.CancelledError:
            cancelled.append("wait")
            raise

    with FakeChat([calls(("wait", {})), "ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[wait])
        async with aclosing(agent.stream("Wait for it")) as events:
            async for event in events:
                if isinstance(event, ToolStarted):
                    await asyncio.sleep(0)
                    break
        await agent.run("next")
    assert cancelled == ["wait"]
    assert sent_roles(fake) == ["user", "assistant", "tool", "user"]


async def test_a_stream_that_is_dropped_in_the_middle_of_a_reply_is_closed(
    requester: MakeRequester,
) -> None:
    """Even without `aclose`, the response is closed and the session can be used again."""
    with FakeChat(["A long story.", "ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake))
        async for event in agent.stream("Tell me a story"):
            assert isinstance(event, TextDelta)
            break
        await agent.run("next")
    assert sent_roles(fake) == ["user"]


def asks_first(done: list[str]) -> list[Tool]:
    """Return a tool that needs approval and one that does not; both note that they ran."""

    @tool(needs_approval=True)
    async def remove(path: str) -> str:
        """Remove a file."""
        done.append(f"removed {path}")
        return "removed"

    @tool
    async def look() -> str:
        """Look around."""
        done.append("looked")
        return "nothing"

    return [remove, look]


@pytest.mark.parametrize(("allowed", "outcome"), [(True, "removed"), (False, "did not approve")])
async def test_siblings_run_while_one_waits_for_approval(
    requester: MakeRequester, allowed: bool, outcome: str
) -> None:
    """The question is asked while the other tool runs; results come in the order of the calls."""
    done: list[str] = []
    answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def approve(call: ToolCall) -> bool:
        return await answered

    wanted = calls(("remove", {"path": "x"}), ("look", {}))
    with FakeChat([wanted, "Done."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=asks_first(done), approve=approve)
        events: list[Event] = []
        async for event in agent.stream("Tidy up"):
            events.append(event)
            if isinstance(event, ToolFinished) and event.call.name == "look":
                assert done == ["looked"]
                answered.set_result(allowed)
    assert [event.call.name for event in events if isinstance(event, ApprovalNeeded)] == ["remove"]
    results = agent.get_history()[2].tool_results
    assert [result.name for result in results] == ["remove", "look"]
    assert outcome in results[0].text
    assert ("removed x" in done) is allowed


async def test_without_an_approver_the_tool_does_not_run(requester: MakeRequester) -> None:
    """The model is told that nobody is there, and the run goes on."""
    done: list[str] = []
    with FakeChat([calls(("remove", {"path": "x"})), "I could not."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=asks_first(done))
        assert await agent.chat("Tidy up") == "I could not."
    assert done == []
    assert "needs approval" in agent.get_history()[2].tool_results[0].text


async def test_an_approver_may_be_set_later(requester: MakeRequester) -> None:
    """A program that has a person to ask sets `approve` on an agent that was built elsewhere."""
    done: list[str] = []
    with FakeChat([calls(("remove", {"path": "x"})), "Done."], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=asks_first(done))
        agent.approve = lambda call: call.arguments["path"] == "x"
        await agent.run("Tidy up")
    assert done == ["removed x"]


async def test_a_message_may_be_streamed_to(requester: MakeRequester) -> None:
    """`stream` takes the inputs that `run` takes."""
    with FakeChat(["Hi"]) as fake:
        agent = Agent(requester(fake))
        events = [event async for event in agent.stream(Message.user("Hi"))]
    assert isinstance(events[-1], Finished)
