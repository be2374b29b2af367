"""Cancelled at any await, a run ends at once, asks nothing more, and the session can go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from ...agent.agent import Agent
from ...messages import Message, ToolCall
from ...retry import Backoff
from ...session.compactor import SimpleHistoryCompactor
from ...tools.tool import ToolContext, tool
from ..conftest import MakeRequester
from ..fake_chat import FakeChat, calls, hang, status
from .unreliable_store import UnreliableStore
from .words import STRICT, sent_roles

HANG = 86_400.0  # seconds
WAIT = calls(("wait", {}))

pytestmark = pytest.mark.virtual_time


@dataclass
class Slow:
    """Everything an agent waits for; what `at` names does not come back."""

    at: str
    store: UnreliableStore = field(default_factory=UnreliableStore)
    approvals: list[str] = field(default_factory=list)
    name: str = "slow"

    async def reach(self, place: str) -> None:
        if place == self.at:
            await asyncio.sleep(HANG)

    async def system_prompt(self, context: ToolContext) -> str:
        await self.reach("prompt")
        return "Be brief."

    async def approve(self, call: ToolCall) -> bool:
        await self.reach("approval")
        return True

    async def connect(self) -> None:
        await self.reach("connect")

    async def get_tools(self) -> dict[str, Any]:
        return {}

    async def disconnect(self) -> None:
        return


class SlowCompactor(SimpleHistoryCompactor):
    """A compactor that may hang."""

    def __init__(self, slow: Slow) -> None:
        super().__init__(100_000)
        self._slow = slow

    async def compact(self, messages: Any, max_symbols: int | None = None) -> list[Message]:
        await self._slow.reach("compaction")
        return await super().compact(messages, max_symbols)


def build(slow: Slow, make: MakeRequester, fake: FakeChat) -> Agent:
    """Return an agent that waits for all that an agent can wait for."""

    @tool(needs_approval=True)
    async def wait() -> str:
        """Wait."""
        await slow.reach("tool")
        return "done"

    slow.store.hanging = slow.at
    return Agent(
        make(fake, backoff=Backoff(random=lambda: 0.0)),
        mcp_clients=[slow],
        system_prompt=slow.system_prompt,
        compactor=SlowCompactor(slow),
        tools=[wait],
        approve=slow.approve,
        store=slow.store,
    )


async def cancelled_after(seconds: float, run: Awaitable[Any]) -> None:
    """Start a run, cancel it, and expect it to end in the same second."""
    task = asyncio.ensure_future(run)
    await asyncio.sleep(seconds)
    assert not task.done(), "the run hangs where it is told to"
    loop = asyncio.get_running_loop()
    task.cancel()
    began = loop.time()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.time() - began < 1


async def read(agent: Agent, text: str) -> None:
    async for _ in agent.stream(text):
        pass


Run = Callable[[Agent, str], Awaitable[Any]]


@pytest.mark.parametrize("run", [Agent.run, read], ids=["run", "stream"])
@pytest.mark.parametrize(
    ("at", "replies", "turns_kept"),
    [
        ("connect", [], []),
        ("prompt", [], []),
        ("load", [], []),
        ("compaction", [], []),
        ("the model", [hang], []),
        ("the second call", [WAIT, hang], ["user", "assistant", "tool"]),
        ("backoff", [status(503, {"retry-after": "50"})], []),
        ("append", [WAIT], []),
        ("approval", [WAIT], ["user", "assistant", "tool"]),
        ("tool", [WAIT], ["user", "assistant", "tool"]),
    ],
)
async def test_a_cancelled_run_ends_at_once_and_the_next_is_accepted(
    requester: MakeRequester, run: Run, at: str, replies: list[Any], turns_kept: list[str]
) -> None:
    """No further request is made, and the next one holds what was stored, every call answered."""
    slow = Slow(at)
    with FakeChat([*replies, "ok"], rules=STRICT) as fake:
        agent = build(slow, requester, fake)
        await cancelled_after(9, run(agent, "a"))
        await asyncio.sleep(HANG)
        assert len(fake.requests) == len(replies)
        slow.at = slow.store.hanging = ""
        await agent.run("next")
    assert sent_roles(fake) == ["system", *turns_kept, "user"]


async def test_a_run_that_waits_for_its_turn_can_be_cancelled(requester: MakeRequester) -> None:
    """It leaves the queue without a trace, and the one before it is not disturbed."""
    slow = Slow("tool")
    with FakeChat([WAIT, "ok", "ok"], rules=STRICT) as fake:
        agent = build(slow, requester, fake)
        first = asyncio.create_task(agent.run("a"))
        await asyncio.sleep(1)
        await cancelled_after(1, agent.run("b"))
        third = asyncio.create_task(agent.run("c"))
        first.cancel()
        slow.at = ""
        with suppress(asyncio.CancelledError):
            await first
        await third
        await agent.run("d")
    first_turn, third_turn = ["user", "assistant", "tool"], ["user", "assistant"]
    assert sent_roles(fake) == ["system", *first_turn, *third_turn, "user"]


async def test_a_tool_that_ignores_its_cancellation_holds_nothing_up_for_long(
    requester: MakeRequester,
) -> None:
    """It gets five seconds, then the run ends without it."""

    @tool
    async def stubborn() -> str:
        """Never stop."""
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
                return "done"

    with FakeChat([calls(("stubborn", {})), "ok"], rules=STRICT) as fake:
        agent = Agent(requester(fake), tools=[stubborn])
        task = asyncio.create_task(agent.run("a"))
        await asyncio.sleep(1)
        task.cancel()
        began = asyncio.get_running_loop().time()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.get_running_loop().time() - began == pytest.approx(5)
        await agent.run("next")
        await asyncio.sleep(100)
    assert "interrupted" in fake.requests[-1]["messages"][2]["content"]
