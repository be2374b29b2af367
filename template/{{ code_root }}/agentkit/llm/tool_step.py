"""The tools of one turn, run in parallel; results come back in the order of the calls."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..messages import Message, ToolCall, ToolResult
from ..observability.records import ToolFinished, ToolStarted
from ..observability.run_context import RunContext
from ..tools.registry import CLEANUP, Approve, ToolRegistry, error_result
from ..tools.tool import ToolContext
from .events import ApprovalNeeded, ToolProgress
from .spend import Spend, current_spend

MOST_AT_ONCE = 16  # tools of one turn; each plain function is a thread
MOST_WAITING = 1_000  # events that nobody has taken yet, beyond which progress is left out

AroundTool = Callable[[ToolCall, Callable[[], Awaitable[ToolResult]]], Awaitable[ToolResult]]
ToolEvent = ToolStarted | ToolProgress | ToolFinished | ApprovalNeeded


@dataclass(slots=True)
class ToolStep:
    """What the tools of a run share."""

    registry: ToolRegistry
    tool_context: ToolContext
    approve: Approve | None
    ctx: RunContext
    spend: Spend
    around: AroundTool | None = None

    async def run(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolEvent | Message, None]:
        """Yield what happens, then the tool message with a result for every call.

        At most 16 tools run at once; the rest, and those that wait for approval, take no place.
        When the consumer stops or the task is cancelled, running tools are cancelled too.
        """
        happened: asyncio.Queue[ToolEvent | None] = asyncio.Queue()
        context = contextvars.copy_context()
        context.run(current_spend.set, self.spend)
        places = asyncio.Semaphore(MOST_AT_ONCE)
        loop = asyncio.get_running_loop()
        tasks = [
            loop.create_task(self._one(call, happened, places), context=context.copy())
            for call in calls
        ]
        try:
            running = len(tasks)
            while running:
                event = await happened.get()
                if event is None:
                    running -= 1
                else:
                    yield event
            results = (self._result(call, task) for call, task in zip(calls, tasks, strict=True))
            message = Message("tool", tuple(results))
        finally:
            await _end(tasks)
        yield message

    async def _one(
        self,
        call: ToolCall,
        happened: asyncio.Queue[ToolEvent | None],
        places: asyncio.Semaphore,
    ) -> ToolResult:
        async def approve(asked: ToolCall) -> bool:
            assert self.approve is not None
            happened.put_nowait(ApprovalNeeded(asked))
            answer = self.approve(asked)
            return await answer if inspect.isawaitable(answer) else bool(answer)

        loop = asyncio.get_running_loop()
        try:
            self._tell(ToolStarted(call, self.spend.run), happened)
            started = time.perf_counter()
            shared, report = self.tool_context, functools.partial(_report, happened, loop, call)
            ctx = ToolContext(
                shared.session_id, shared.user_id, shared.metadata, call, shared.run, report
            )
            asked = approve if self.approve else None
            work = functools.partial(self.registry.execute, call, ctx, asked, places)
            result = await (self.around(call, work) if self.around else work())
            seconds = time.perf_counter() - started
            self._tell(ToolFinished(call, result, seconds, self.spend.run), happened)
            return result
        finally:
            happened.put_nowait(None)

    def _tell(
        self, event: ToolStarted | ToolFinished, happened: asyncio.Queue[ToolEvent | None]
    ) -> None:
        self.ctx.notify(event)
        happened.put_nowait(event)

    def _result(self, call: ToolCall, task: asyncio.Task[ToolResult]) -> ToolResult:
        if task.cancelled():
            return error_result(call, "The tool was cancelled.")
        return task.result()


def _report(
    happened: asyncio.Queue[ToolEvent | None],
    loop: asyncio.AbstractEventLoop,
    call: ToolCall,
    done: float,
    total: float | None,
    message: str,
) -> None:
    if happened.qsize() >= MOST_WAITING:
        return
    event = ToolProgress(call, done, total, message)
    try:
        here = asyncio.get_running_loop() is loop
    except RuntimeError:
        here = False
    if here:
        happened.put_nowait(event)
    else:  # a sync tool, in a thread of its own
        with suppress(RuntimeError):  # which may outlive the loop
            loop.call_soon_threadsafe(happened.put_nowait, event)


async def _end(tasks: Sequence[asyncio.Task[ToolResult]]) -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        # The registry bounds what tools take to end; approvers could take longer.
        await asyncio.wait(running, timeout=CLEANUP + 1.0)
