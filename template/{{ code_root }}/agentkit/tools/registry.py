"""The tools of a run: looked up, validated, run; every failure is an answer to the model."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any

from ..errors import ConfigError, ToolError
from ..messages import Text, ToolCall, ToolResult
from ..observability.redact import error_message, exception_text, mask, shorten
from .content import LONGEST_RESULT, Content, plain_content, result_content
from .tool import PlainFunction, Tool, ToolContext, run_in_thread

CLEANUP = 5.0  # seconds that a cancelled tool gets to end

Approve = Callable[[ToolCall], Awaitable[bool] | bool]


class ToolRegistry:
    """Tools by name. Raises `ConfigError` when two tools want the same name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._schemas: tuple[Tool, ...] = ()
        self.register_many(tools)

    def register(self, tool: Tool) -> ToolRegistry:
        """Add a tool; returns the registry."""
        if not isinstance(tool, Tool):
            raise ConfigError(f"{tool!r} is no Tool; put @tool above the function")
        if tool.name in self._tools:
            raise ConfigError(f"two tools are named {tool.name!r}; rename one with @tool(name=…)")
        self._tools[tool.name] = tool
        self._schemas = tuple(self._tools.values())
        return self

    def register_many(self, tools: Iterable[Tool]) -> ToolRegistry:
        """Add tools; returns the registry."""
        for tool in tools:
            self.register(tool)
        return self

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return self._tools.get(name)

    def schemas(self) -> tuple[Tool, ...]:
        """Return what the model is told: each tool's name, description and parameters."""
        return self._schemas

    async def execute(
        self,
        call: ToolCall,
        ctx: ToolContext | None = None,
        approve: Approve | None = None,
        places: AbstractAsyncContextManager[None] | None = None,
    ) -> ToolResult:
        """Run one call and return what the model gets to read; only cancellation escapes.

        A tool that needs approval waits for `approve(call)` outside its timeout; without an
        approver it is refused. `places`, such as a semaphore, is held only while the tool runs.
        """
        try:
            tool, arguments = self._prepare(call)
            await _approved(tool, call, approve)
        except ToolError as error:
            return error_result(call, error_message(error))
        ctx = ctx.of(call) if ctx else ToolContext(call=call)
        async with places or nullcontext():
            return await _run_in_time(tool, arguments, ctx)

    def _prepare(self, call: ToolCall) -> tuple[Tool, dict[str, Any]]:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            raise ToolError(f"There is no tool named {call.name!r}. Known tools: {known}.")
        if call.malformed is not None:
            raise ToolError(f"The arguments were no JSON object: {mask(call.malformed)[:200]!r}")
        try:  # parsed anew: a tool may change its arguments, the history must not
            return tool, tool.validate(json.loads(call.arguments_text))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a validator is anybody's code
            raise ToolError(f"Invalid arguments. {describe_errors(error)}") from None


async def _run_in_time(tool: Tool, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
    """Run a tool in a task of its own: one that ignores its cancellation holds nobody up.

    It is left behind, its result dropped: when the time is up at once, when this is cancelled
    after some seconds.
    """
    assert ctx.call is not None
    task = asyncio.create_task(_result(tool, arguments, ctx, ctx.call))
    try:
        await asyncio.wait((task,), timeout=tool.timeout)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait((task,), timeout=CLEANUP)
        _warn_if_running(task, ctx)
        raise
    if not task.done():
        task.cancel()
        asyncio.get_running_loop().call_later(CLEANUP, _warn_if_running, task, ctx)
        return error_result(ctx.call, f"Timed out after {tool.timeout:g} s.")
    if task.cancelled():
        return error_result(ctx.call, "the tool was cancelled from within")
    return task.result()


def _warn_if_running(task: asyncio.Task[ToolResult], ctx: ToolContext) -> None:
    if ctx.run is not None and ctx.call is not None and not task.done():
        ctx.run.logger.warn(
            f"tool {ctx.call.name} ignores that it was cancelled: it runs on, its result is dropped"
        )


async def _result(
    tool: Tool, arguments: dict[str, Any], ctx: ToolContext, call: ToolCall
) -> ToolResult:
    try:
        return ToolResult(call.id, call.name, await _content(tool, arguments, ctx))
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except ToolError as error:
        return error_result(call, error_message(error))
    except BaseException as error:
        return error_result(call, exception_text(error))


async def _content(tool: Tool, arguments: dict[str, Any], ctx: ToolContext) -> Content:
    """Run the tool and read what it returns; what runs code of its own is read in a thread."""
    if isinstance(tool.execute, PlainFunction):
        content: Content = await tool.execute.finished(arguments, ctx, result_content)
        return content
    value = await tool.execute(arguments, ctx)
    plain = plain_content(value)
    return await run_in_thread(partial(result_content, value)) if plain is None else plain


async def _approved(tool: Tool, call: ToolCall, approve: Approve | None) -> None:
    try:
        if not tool.asks_first(call):
            return
        answer = False if approve is None else approve(call)
        allowed = bool(await answer if inspect.isawaitable(answer) else answer)
    except BaseException as error:
        if _ends_the_task(error):
            raise
        raise ToolError(f"Approval failed: {exception_text(error)}") from None
    if approve is None:
        raise ToolError("This tool needs approval and nobody is there to give it.")
    if not allowed:
        raise ToolError("The user did not approve this call.")


def _ends_the_task(error: BaseException) -> bool:
    """Tell whether an exception is meant for the running task, not a failure of what it called."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, (KeyboardInterrupt, GeneratorExit))


def error_result(call: ToolCall, text: str) -> ToolResult:
    """Return an error the model can act on."""
    return ToolResult(call.id, call.name, (Text(shorten(mask(text), LONGEST_RESULT)),), True)


def describe_errors(error: BaseException) -> str:
    """Return where and why a value does not fit its type, without the value itself."""
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        is_message = isinstance(error, ValueError)
        return mask(error_message(error)) if is_message else exception_text(error)
    details = error.errors(include_url=False, include_input=False, include_context=False)
    where = (".".join(map(str, item["loc"])) or "value" for item in details)
    found = (f"{path}: {item['msg']}" for path, item in zip(where, details, strict=True))
    return mask("; ".join(found))
