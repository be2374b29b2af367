"""The tools of one turn: side by side, in order, approved or not, and cleaned up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from ...llm.events import ApprovalNeeded, ToolFinished, ToolProgress, ToolStarted
from ...llm.spend import Spend
from ...llm.tool_step import MOST_AT_ONCE, ToolStep
from ...messages import Message, Text, ToolCall, ToolResult
from ...observability.run_context import RunContext
from ...tools.registry import Approve, ToolRegistry
from ...tools.tool import Tool, ToolContext, tool


def step(ctx: RunContext, tools: Sequence[Tool], approve: Approve | None = None) -> ToolStep:
    """Return a step with these tools."""
    return ToolStep(ToolRegistry(tools), ToolContext(), approve, ctx, Spend(7, None))


async def run(made: ToolStep, *calls: ToolCall) -> tuple[list[Any], list[ToolResult]]:
    """Return what happened, and the results."""
    happened = [event async for event in made.run(calls)]
    message = happened.pop()
    assert isinstance(message, Message)
    return happened, message.tool_results


def call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(f"c{number}", name, arguments)


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return f"waited {seconds:g}"


@pytest.mark.virtual_time
async def test_tools_run_side_by_side(ctx: RunContext) -> None:
    """All of them take as long as the longest one; results stand in the order of the calls."""
    began = asyncio.get_running_loop().time()
    waits = [call("wait", number, seconds=9.0 - number) for number in range(3)]
    happened, results = await run(step(ctx, [wait]), *waits)
    assert asyncio.get_running_loop().time() - began == 9.0
    assert [result.call_id for result in results] == ["c0", "c1", "c2"]
    assert [result.text for result in results] == ["waited 9", "waited 8", "waited 7"]
    finished = [event.call.id for event in happened if isinstance(event, ToolFinished)]
    assert finished == ["c2", "c1", "c0"]


async def test_sync_tools_run_side_by_side_too(ctx: RunContext) -> None:
    """Each in a thread of its own, so that they can wait for each other."""
    together = threading.Barrier(MOST_AT_ONCE, timeout=60)

    @tool
    def meet(number: int) -> int:
        """Meet the others."""
        together.wait()
        return number

    meets = [ToolCall(f"c{n}", "meet", {"number": n}) for n in range(MOST_AT_ONCE)]
    _, results = await run(step(ctx, [meet]), *meets)
    assert [result.text for result in results] == [str(number) for number in range(MOST_AT_ONCE)]


async def test_only_so_many_tools_run_at_once(ctx: RunContext) -> None:
    """A turn with a thousand calls does not start a thousand threads; each call gets its turn."""
    running, most = 0, 0

    @tool
    async def count() -> None:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    _, results = await run(step(ctx, [count]), *(call("count", number) for number in range(1_000)))
    assert most == MOST_AT_ONCE
    assert not any(result.is_error for result in results)


@pytest.mark.virtual_time
async def test_waiting_for_approval_takes_no_place(ctx: RunContext) -> None:
    """Any number of calls may wait for a person while others run."""

    @tool(needs_approval=True)
    async def delete() -> str:
        """Delete."""
        return "deleted"

    async def approve(asked: ToolCall) -> bool:
        await asyncio.sleep(300)
        return True

    deletes = [call("delete", number) for number in range(2 * MOST_AT_ONCE)]
    made = step(ctx, [delete, wait], approve)
    happened, results = await run(made, *deletes, call("wait", 99, seconds=1.0))
    assert next(e.call.id for e in happened if isinstance(e, ToolFinished)) == "c99"
    assert [result.text for result in results] == ["deleted"] * len(deletes) + ["waited 1"]


async def test_one_failure_does_not_hide_the_others(ctx: RunContext) -> None:
    """Every call has its result, errors among them."""

    @tool
    async def fail() -> None:
        """Fail."""
        raise RuntimeError("broken")

    calls = call("wait", 1, seconds=0), call("fail", 2), call("gone", 3), call("wait", 4, seconds=0)
    _, results = await run(step(ctx, [wait, fail]), *calls)
    assert [result.is_error for result in results] == [False, True, True, False]


async def test_calls_of_one_id_get_their_own_results(ctx: RunContext) -> None:
    """Results belong to calls by position."""
    twice = [ToolCall("same", "wait", {"seconds": 0}), ToolCall("same", "gone")]
    _, results = await run(step(ctx, [wait]), *twice)
    assert [result.is_error for result in results] == [False, True]


async def test_events_name_the_call_and_the_run(ctx: RunContext) -> None:
    """A start and an end for each call, told to listeners and observers alike."""
    records: list[Any] = []
    ctx.observers.append(records.append)
    happened, [result] = await run(step(ctx, [wait]), call("wait", seconds=0))
    started, finished = happened
    assert started == ToolStarted(call("wait", seconds=0), 7)
    assert isinstance(finished, ToolFinished)
    assert (finished.call, finished.result, finished.run) == (started.call, result, 7)
    assert finished.seconds >= 0
    assert records == happened


@pytest.mark.virtual_time
async def test_a_tool_waits_for_approval_while_its_siblings_run(ctx: RunContext) -> None:
    """The time that a person takes is not the tool's."""

    @tool(needs_approval=True, timeout=1.0)
    async def delete(path: str) -> str:
        """Delete."""
        return f"deleted {path}"

    async def approve(asked: ToolCall) -> bool:
        await asyncio.sleep(300)
        return bool(asked.arguments["path"] == "a")

    calls = call("delete", 1, path="a"), call("wait", 2, seconds=1.0), call("delete", 3, path="b")
    happened, results = await run(step(ctx, [delete, wait], approve), *calls)
    assert [result.text for result in results] == [
        "deleted a",
        "waited 1",
        "The user did not approve this call.",
    ]
    kinds = [(type(event), event.call.id) for event in happened]
    assert kinds.index((ApprovalNeeded, "c1")) < kinds.index((ToolFinished, "c2"))
    assert kinds.index((ToolFinished, "c2")) < kinds.index((ToolFinished, "c1"))


@pytest.mark.parametrize("answer", [True, False])
async def test_an_approver_may_be_a_plain_function(answer: bool, ctx: RunContext) -> None:
    """It need not be async."""

    @tool(needs_approval=True)
    async def delete() -> str:
        """Delete."""
        return "deleted"

    happened, [result] = await run(step(ctx, [delete], lambda _: answer), call("delete"))
    assert result.is_error is not answer
    assert any(isinstance(event, ApprovalNeeded) for event in happened)


async def test_nobody_is_asked_for_a_tool_that_needs_no_approval(ctx: RunContext) -> None:
    """The approver is for those that do."""
    made = step(ctx, [wait], lambda _: pytest.fail("asked"))
    happened, _ = await run(made, call("wait", seconds=0))
    assert not any(isinstance(event, ApprovalNeeded) for event in happened)


async def test_without_an_approver_the_call_is_refused(ctx: RunContext) -> None:
    """The model is told that nobody is there."""

    @tool(needs_approval=True)
    async def delete() -> None:
        """Delete."""

    _, [result] = await run(step(ctx, [delete]), call("delete"))
    assert result.is_error
    assert "nobody is there" in result.text


@pytest.mark.virtual_time
async def test_cancelled_tools_get_time_to_clean_up(ctx: RunContext) -> None:
    """They are cancelled, waited for, and not for ever."""
    cleaned = []

    @tool
    async def tidy(seconds: float) -> None:
        """Clean up when cancelled."""
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(seconds)
            cleaned.append(seconds)

    events = step(ctx, [tidy]).run([call("tidy", 1, seconds=1.0), call("tidy", 2, seconds=60.0)])
    await anext(events)
    await asyncio.sleep(1)
    began = asyncio.get_running_loop().time()
    await events.aclose()
    assert asyncio.get_running_loop().time() - began == 5.0
    assert cleaned == [1.0]
    await asyncio.sleep(60)


async def test_a_tool_that_cancels_itself_is_an_error(ctx: RunContext) -> None:
    """A library's cancellation within a tool does not end the run."""

    @tool
    async def confused() -> None:
        """Raise what only the loop should raise."""
        raise asyncio.CancelledError

    _, [result] = await run(step(ctx, [confused]), call("confused"))
    assert result.is_error
    assert "cancelled" in result.text


async def test_an_observer_that_fails_does_not_stop_a_tool(ctx: RunContext) -> None:
    """It costs a warning, and the result is there."""

    def broken(record: object) -> None:
        raise RuntimeError("observer")

    ctx.observers.append(broken)
    _, [result] = await run(step(ctx, [wait]), call("wait", seconds=0))
    assert result.text == "waited 0"


async def test_progress_comes_between_the_start_and_the_end_of_its_tool(ctx: RunContext) -> None:
    """A tool tells how far it is, also from a thread; if nobody watches, that does nothing."""

    @tool
    async def count(ctx: ToolContext) -> str:
        """Count."""
        ctx.progress(1, 2, "one")
        return "counted"

    @tool
    def dig(ctx: ToolContext) -> str:
        """Dig."""
        ctx.progress(0.5)
        return "dug"

    happened, _ = await run(step(ctx, [count]), call("count"))
    assert [type(event) for event in happened] == [ToolStarted, ToolProgress, ToolFinished]
    assert happened[1] == ToolProgress(call("count"), 1, 2, "one")
    happened, _ = await run(step(ctx, [dig]), call("dig"))
    assert happened[1] == ToolProgress(call("dig"), 0.5, None, "")
    ToolContext().progress(1)


async def test_progress_that_nobody_takes_is_left_out(ctx: RunContext) -> None:
    """A tool that tells more than anybody reads does not fill the memory."""

    @tool
    async def chatter(ctx: ToolContext) -> str:
        """Tell every step."""
        for number in range(50_000):
            ctx.progress(number)
        return "done"

    happened, (result,) = await run(step(ctx, [chatter]), call("chatter"))
    assert result.text == "done"
    assert len(happened) < 2_000


async def test_something_may_stand_around_each_tool(ctx: RunContext) -> None:
    """It gets the call, runs the tool or not, and answers for it."""

    async def around(call: ToolCall, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        return await run() if call.id == "c1" else ToolResult(call.id, call.name, (Text("no"),))

    made = step(ctx, [wait])
    made.around = around
    _, results = await run(made, call("wait", 1, seconds=0), call("wait", 2, seconds=9))
    assert [result.text for result in results] == ["waited 0", "no"]
