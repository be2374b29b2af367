"""What a run does only once: model calls, tools, and where its session begins.

Each is a step, whose outcome is written down before anything follows from it. A run that begins
again after a crash goes through the same steps in the same order, and takes over what is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import NamedTuple

from dbos import DBOS, StepOptions, StepReservation

from ..errors import ConnectionFailed, LlmError
from ..llm.provider import Delta, Provider, Request
from ..messages import Reply, ToolCall, ToolResult
from ..observability.logger import Logger
from ..observability.redact import mask_known
from ..session.seal import INTERRUPTED
from ..tools.registry import error_result
from .records import (
    Json,
    error_data,
    read_error,
    read_reply,
    read_tool_result,
    reply_data,
    tool_result_data,
)

Ask = Callable[[], Coroutine[None, None, Reply]]
RunTool = Callable[[], Awaitable[ToolResult]]


class _ToolSteps(NamedTuple):
    """The numbers of a call's steps, drawn in the order of the calls: tools end in any order."""

    call: ToolCall
    begin: StepReservation
    end: StepReservation


class _Asking:
    """One request to a model, which can be stopped without stopping what waits for it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._task: asyncio.Task[Reply] | None = None
        self.late = False

    async def reply(self) -> Reply:
        if self.late:
            raise asyncio.CancelledError
        self._task = asyncio.ensure_future(self._ask())
        return await self._task

    def stop(self) -> None:
        if self._task is None or self._task.cancel():  # else it is there, and being written down
            self.late = True


class Steps:
    """The steps of one run, for as long as this process is at it.

    `rerun` decides whether a tool that was running when its process died is run again; if not, the
    model reads that it may have run. `is_closing` tells a shutdown from a reply that took too long.
    """

    def __init__(
        self, rerun: Callable[[ToolCall], bool], is_closing: Callable[[], bool], logger: Logger
    ) -> None:
        self._rerun = rerun
        self._is_closing = is_closing
        self._logger = logger
        self._tools: dict[int, _ToolSteps] = {}  # by identity: ids of calls may repeat
        self.rows: dict[str, int] = {}  # how many rows of a session this run knows of

    async def reply(self, ask: Ask) -> Reply:
        """Return the reply that was written down, else ask for one and write it down."""
        asking = _Asking(ask)
        step = DBOS.run_step_async(_named("model"), self._ask, asking)
        outcome = await self._written_down(asyncio.create_task(step), asking)
        if "error" in outcome:
            raise read_error(outcome["error"])
        if "reply" not in outcome:
            if asking.late:
                raise asyncio.CancelledError  # which the deadline waits for
            raise ConnectionFailed("no complete reply in time")
        reply = read_reply(outcome["reply"])
        for call in reply.message.tool_calls:
            steps = _ToolSteps(call, DBOS.reserve_step(), DBOS.reserve_step())
            self._tools[id(call)] = steps
        return reply

    async def tool(self, call: ToolCall, run: RunTool) -> ToolResult:
        """Return the result that was written down, else run the tool and write its result down.

        That it begins is written down first, so that nobody who has lost the run begins it, and
        that it may have run is known later.
        """
        steps = self._tools.pop(id(call))
        live: list[bool] = []
        await steps.begin.run_async(_named(f"{call.name} begins"), _begin, live)
        work = steps.end.run_async(_named(call.name), self._run_tool, call, run, bool(live))
        return read_tool_result(await work)

    async def first_rows(self, session: str, count: int) -> int:
        """Return how many rows the session had when the run began: `count`, the first time."""
        self.rows[session] = await DBOS.run_step_async(_named("session"), _value, count)
        return self.rows[session]

    async def _written_down(self, step: asyncio.Task[Json], asking: _Asking) -> Json:
        """Wait for a step. A deadline ends the request only: its outcome is written down first."""
        while True:
            try:
                return await asyncio.shield(step)
            except asyncio.CancelledError:
                if step.done() or self._is_closing():
                    step.cancel()
                    raise
                asking.stop()

    async def _ask(self, asking: _Asking) -> Json:
        try:
            return {"reply": reply_data(await asking.reply())}
        except LlmError as error:
            return {"error": error_data(error)}
        except asyncio.CancelledError:
            if not asking.late:
                raise
            return {"cut_off": True}  # the next attempt is a step of its own

    async def _run_tool(self, call: ToolCall, run: RunTool, first: bool) -> Json:
        if not first:
            name = mask_known(call.name)
            if not self._rerun(call):
                self._logger.warn(f"tool {name} was interrupted by a crash: it may have run")
                return tool_result_data(error_result(call, INTERRUPTED))
            self._logger.warn(f"tool {name} was interrupted by a crash: it runs again")
        current_steps.set(None)  # in the tool's own task: what it does is all this one step
        return tool_result_data(await run())


current_steps: ContextVar[Steps | None] = ContextVar("agentkit_steps", default=None)


class DurableProvider:
    """A provider whose replies are written down, inside a run; elsewhere it is the one it wraps."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def complete(self, request: Request) -> Reply:
        """Return the reply of one call."""
        steps = current_steps.get()
        if steps is None:
            return await self._provider.complete(request)
        return await steps.reply(lambda: self._provider.complete(request))

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Reply, None]:
        """Yield what the wrapped provider does; inside a run only the reply, since nobody listens.

        A delta that was shown could not be taken back when the run begins again.
        """
        if current_steps.get() is not None:
            yield await self.complete(request)
            return
        async for event in self._provider.stream(request):
            yield event


async def around_tool(call: ToolCall, run: RunTool) -> ToolResult:
    """Make a tool a step, inside a run; for `LlmRequester.around_tool`."""
    steps = current_steps.get()
    return await (run() if steps is None else steps.tool(call, run))


async def _begin(live: list[bool]) -> bool:
    live.append(True)
    return True


async def _value(value: int) -> int:
    return value


def _named(name: str) -> StepOptions:
    return {"name": mask_known(name)}
