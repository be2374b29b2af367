"""The tools of a run: looked up, validated, run; every failure is an answer to the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from ..errors import ConfigError, ToolError
from ..messages import Image, Text, ToolCall, ToolResult
from ..observability.redact import exception_text, mask, shorten
from ..texts import clean, encode_json
from .tool import Tool, ToolContext

LONGEST_RESULT = 100_000  # characters of a result the model gets to read
NO_OUTPUT = "(no output)"

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
        self, call: ToolCall, ctx: ToolContext | None = None, approve: Approve | None = None
    ) -> ToolResult:
        """Run one call and return what the model gets to read; only cancellation escapes.

        A tool that needs approval waits for `approve(call)` outside its timeout; without an
        approver it is refused.
        """
        try:
            tool, arguments = self._prepare(call)
            await _approved(tool, call, approve)
            ctx = ctx.of(call) if ctx else ToolContext(call=call)
            async with asyncio.timeout(tool.timeout):
                value = await _inner(tool, arguments, ctx)
        except _Failed as failure:
            return error_result(call, failure.text)
        except ToolError as error:
            return error_result(call, str(error))
        except TimeoutError:
            return error_result(call, f"Timed out after {tool.timeout:g} s.")
        return ToolResult(call.id, call.name, result_content(value))

    def _prepare(self, call: ToolCall) -> tuple[Tool, dict[str, Any]]:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            raise ToolError(f"There is no tool named {call.name!r}. Known tools: {known}.")
        if call.malformed is not None:
            raise ToolError(f"The arguments were no JSON object: {mask(call.malformed)[:200]!r}")
        try:  # parsed anew: a tool may change its arguments, the history must not
            return tool, tool.validate(json.loads(call.arguments_text))
        except Exception as error:  # a validator is anybody's code
            raise ToolError(f"Invalid arguments. {describe_errors(error)}") from None


class _Failed(Exception):
    """What a tool raised, as text: keeps a tool's own TimeoutError apart from ours."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


async def _inner(tool: Tool, arguments: dict[str, Any], ctx: ToolContext) -> Any:
    try:
        return await tool.execute(arguments, ctx)
    except ToolError:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _Failed("the tool was cancelled from within") from None
    except (Exception, SystemExit) as error:
        raise _Failed(exception_text(error)) from None


async def _approved(tool: Tool, call: ToolCall, approve: Approve | None) -> None:
    try:
        if not tool.asks_first(call):
            return
        answer = False if approve is None else approve(call)
        allowed = answer if isinstance(answer, bool) else await answer
    except Exception as error:
        raise ToolError(f"Approval failed: {exception_text(error)}") from None
    if approve is None:
        raise ToolError("This tool needs approval and nobody is there to give it.")
    if not allowed:
        raise ToolError("The user did not approve this call.")


def error_result(call: ToolCall, text: str) -> ToolResult:
    """Return an error the model can act on."""
    return ToolResult(call.id, call.name, (Text(shorten(mask(text), LONGEST_RESULT)),), True)


def describe_errors(error: Exception) -> str:
    """Return where and why a value does not fit its type, without the value itself."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return mask(str(error)) if isinstance(error, ValueError) else exception_text(error)
    details = errors(include_url=False, include_input=False, include_context=False)
    where = (".".join(map(str, item["loc"])) or "value" for item in details)
    found = (f"{path}: {item['msg']}" for path, item in zip(where, details, strict=True))
    return mask("; ".join(found))


def result_content(value: Any) -> tuple[Text | Image, ...]:
    """Return what a tool returned as parts: text as it is, anything else as JSON."""
    if isinstance(value, (Text, Image)):
        value = (value,)
    if isinstance(value, Sequence) and value and all(isinstance(v, (Text, Image)) for v in value):
        return tuple(
            Text(shorten(part.text, LONGEST_RESULT)) if isinstance(part, Text) else part
            for part in value
        )
    text = value if isinstance(value, str) else _json(value)
    return (Text(shorten(clean(text), LONGEST_RESULT) or NO_OUTPUT),)


def _json(value: Any) -> str:
    if value is None:
        return NO_OUTPUT
    try:
        return encode_json(value)
    except (TypeError, ValueError):
        pass  # not plain JSON: dates, decimals, sets, models, bytes
    from pydantic_core import to_json

    try:
        return to_json(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings").decode()
    except ValueError:
        return repr(value)
