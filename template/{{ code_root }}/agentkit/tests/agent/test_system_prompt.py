"""The system prompt, and what it and the tools know of the conversation they serve."""

from __future__ import annotations

import asyncio

from ...agent.agent import Agent
from ...session.store import Session
from ...tools.tool import ToolContext, tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls
from .words import STRICT, roles, sent, texts


async def test_a_system_prompt_is_sent_first_and_not_stored(requester: MakeRequester) -> None:
    """It opens each request, and the history is without it."""
    with FakeChat(["one", "two"], rules=STRICT) as fake:
        agent = Agent(requester(fake), system_prompt="Be brief.")
        await agent.run("a")
        await agent.run("b")
    assert texts(fake) == ["Be brief.", "a", "one", "b"]
    assert roles(agent.get_history()) == ["user", "assistant"] * 2


async def test_a_system_prompt_may_be_a_function_of_the_conversation(
    requester: MakeRequester,
) -> None:
    """It is asked at every turn, and knows the session, its user and its metadata."""

    def prompt(context: ToolContext) -> str:
        return f"{context.session_id}, {context.user_id}, {context.metadata['level']}"

    session = Session("s1", "ann", {"level": "B2"})
    with FakeChat(["one", "two"], rules=STRICT) as fake:
        agent = Agent(requester(fake), system_prompt=prompt)
        await agent.run("a", session)
        session.metadata["level"] = "C1"
        await agent.run("b", session)
    assert sent(fake, 0)[0] == {"role": "system", "content": "s1, ann, B2"}
    assert sent(fake, 1)[0] == {"role": "system", "content": "s1, ann, C1"}


async def test_a_system_prompt_may_be_an_async_function(requester: MakeRequester) -> None:
    """What it returns is awaited."""

    async def prompt(context: ToolContext) -> str:
        await asyncio.sleep(0)
        return f"run {context.run.run_id if context.run else None}"

    with FakeChat(["one"]) as fake:
        agent = Agent(requester(fake), system_prompt=prompt)
        await agent.run("a")
    assert texts(fake)[0] == f"run {agent.ctx.run_id}"


async def test_a_tool_knows_the_conversation_it_serves(requester: MakeRequester) -> None:
    """`ToolContext` holds the session, the user, the metadata, the call and the run."""
    seen: list[ToolContext] = []

    @tool
    async def whoami(ctx: ToolContext) -> str:
        """Tell who asks."""
        seen.append(ctx)
        return str(ctx.user_id)

    with FakeChat([calls(("whoami", {})), "You are Ann."]) as fake:
        agent = Agent(requester(fake), tools=[whoami])
        await agent.run("Who am I?", Session("s1", "ann", {"level": "B2"}))
    assert (seen[0].session_id, seen[0].user_id, seen[0].metadata) == ("s1", "ann", {"level": "B2"})
    assert seen[0].call is not None
    assert seen[0].call.name == "whoami"
    assert seen[0].run is agent.ctx
