"""The registry: whatever a call, a tool or a result is like, the model gets something to read."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from pydantic import BaseModel

from ...errors import ConfigError, ToolError
from ...messages import ToolCall, ToolResult
from ...observability.redact import add_secret
from ...observability.run_context import RunContext
from ...tools.registry import ToolRegistry
from ...tools.tool import Tool, ToolContext, tool


class Point(BaseModel):
    """A pydantic model."""

    x: int
    label: str = "nghĩa"


class Stop(BaseException):
    """What some library ends its own loop with."""


class Mute(Exception):
    """An error that cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class MuteToolError(Mute, ToolError):
    """A message for the model that cannot be read."""


@tool
async def get_word(word: str, times: int = 1) -> str:
    """Look up a word."""
    return f"{word}: everywhere " * times


def call(name: str = "get_word", malformed: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall("c1", name, arguments, malformed)


async def result_of(error: BaseException) -> ToolResult:
    """Return the result of a tool that raises this."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> Any:
        raise error

    return await ToolRegistry([Tool("give", "", {}, execute)]).execute(call("give"))


def test_tools_are_registered_by_name() -> None:
    """Calls can be chained; the tools come back in order."""
    registry = ToolRegistry().register(get_word)
    other = Tool("other", "", {}, get_word.execute)
    assert registry.register_many([other]) is registry
    assert registry.schemas() == (get_word, other)
    assert registry.get("other") is other
    assert registry.get("none") is None


def test_the_schemas_stay_the_same_sequence() -> None:
    """What was encoded for one call is good for the next."""
    registry = ToolRegistry([get_word])
    assert registry.schemas() is registry.schemas()


def test_a_name_can_be_taken_once() -> None:
    """Two tools of one name are never settled in silence."""
    with pytest.raises(ConfigError, match="two tools are named 'get_word'; rename one"):
        ToolRegistry([get_word, get_word])


def test_a_function_without_the_decorator_is_refused() -> None:
    """The error says what is missing."""
    functions: list[Any] = [print]
    with pytest.raises(ConfigError, match="put @tool above the function"):
        ToolRegistry(functions)


async def test_a_call_is_run() -> None:
    """Arguments are validated, the result belongs to the call."""
    result = await ToolRegistry([get_word]).execute(call(word="ubiquitous"))
    assert (result.call_id, result.name, result.is_error) == ("c1", "get_word", False)
    assert result.text == "ubiquitous: everywhere "


async def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    """The model can correct itself."""
    registry = ToolRegistry([get_word, Tool("add", "", {}, get_word.execute)])
    result = await registry.execute(call("get_wrod"))
    assert result.is_error
    assert result.text == "There is no tool named 'get_wrod'. Known tools: add, get_word."
    assert (await ToolRegistry().execute(call())).text.endswith("Known tools: none.")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (call(), "word: "),
        (call(word=["a"]), "word: "),
        (call(word="a", times="many"), "times: "),
        (call(word="a", extra=1), "extra: "),
        (call(malformed='{"word": "a'), 'no JSON object: \'{"word": "a\''),
        (call(malformed="[1]"), "no JSON object: '[1]'"),
    ],
)
async def test_arguments_that_do_not_fit_are_told(asked: ToolCall, problem: str) -> None:
    """Which one, and why; the tool is not run."""
    result = await ToolRegistry([get_word]).execute(asked)
    assert result.is_error
    assert problem in result.text


async def test_an_error_inside_a_tool_is_not_taken_for_a_bad_argument() -> None:
    """A ValueError or a ValidationError of the tool's own is the tool's."""

    @tool
    async def parse(text: str) -> int:
        """Parse."""
        return Point.model_validate({"x": text}).x

    result = await ToolRegistry([parse]).execute(call("parse", text="x"))
    assert result.text.startswith("ValidationError: ")
    assert "Invalid arguments" not in result.text


class OwnErrors(ValueError):
    """An error of another library's, whose `errors` only looks like pydantic's."""

    errors = ("oops",)


@pytest.mark.parametrize(
    "error", [KeyError("oops"), TypeError("oops"), Stop("oops"), OwnErrors("oops")]
)
async def test_a_validator_that_breaks_is_an_error_result(error: BaseException) -> None:
    """Not every validator raises what it should."""

    def validate(arguments: dict[str, Any]) -> dict[str, Any]:
        raise error

    strict = Tool("strict", "", {}, get_word.execute, validate=validate)
    result = await ToolRegistry([strict]).execute(call("strict"))
    assert result.is_error
    assert "oops" in result.text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("The file is gone."), "The file is gone."),
        (RuntimeError("broken"), "RuntimeError: broken"),
        (TimeoutError("its own"), "TimeoutError: its own"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "the tool was cancelled from within"),
        (ExceptionGroup("many", [ValueError("root")]), "ValueError: root"),
        (BaseExceptionGroup("many", [GeneratorExit("root")]), "GeneratorExit: root"),
        (GeneratorExit("oops"), "GeneratorExit: oops"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (Stop("all"), "Stop: all"),
        (Mute(), "Mute: [no message: RuntimeError]"),
        (MuteToolError(), "[no message: RuntimeError]"),
        (RuntimeError(), "RuntimeError"),
    ],
)
async def test_what_a_tool_raises_is_told(error: BaseException, text: str) -> None:
    """Type and message, the root cause of a group; a ToolError's own words."""
    result = await result_of(error)
    assert result.is_error
    assert result.text == text


@pytest.mark.parametrize("error", [KeyboardInterrupt("oops"), SystemExit("oops"), Stop("oops")])
async def test_what_ends_a_thread_is_told(error: BaseException) -> None:
    """A Ctrl-C arrives in the main thread, so one raised in a tool's thread is the tool's own."""

    @tool
    def give() -> None:
        """Give."""
        raise error

    result = await ToolRegistry([give]).execute(call("give"))
    assert result.is_error
    assert "oops" in result.text


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("kind", [RuntimeError, ToolError])
async def test_no_error_shows_a_secret(kind: type[Exception]) -> None:
    """What a library puts into its error text does not reach the model."""
    add_secret("canary-0123456789")
    result = await result_of(kind("401 for key canary-0123456789"))
    assert "canary" not in result.text
    assert "***" in result.text


@pytest.mark.virtual_time
async def test_a_tool_that_takes_too_long_is_told() -> None:
    """After its own timeout, to the second."""

    @tool(timeout=1.5)
    async def slow() -> None:
        """Be slow."""
        await asyncio.sleep(3600)

    began = asyncio.get_running_loop().time()
    result = await ToolRegistry([slow]).execute(call("slow"))
    assert (result.is_error, result.text) == (True, "Timed out after 1.5 s.")
    assert asyncio.get_running_loop().time() - began == 1.5


def stubborn(cleaned: list[str]) -> Tool:
    """Return a tool that goes on when it is cancelled."""

    @tool(timeout=1.5)
    async def stay() -> str:
        """Stay."""
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(30)
        cleaned.append("at last")
        return "late"

    return stay


@pytest.mark.virtual_time
async def test_a_tool_that_ignores_its_cancellation_still_times_out(
    ctx: RunContext, log: io.StringIO
) -> None:
    """At once: it is left behind with a warning, and its result is dropped."""
    cleaned: list[str] = []
    began = asyncio.get_running_loop().time()
    registry = ToolRegistry([stubborn(cleaned)])
    result = await registry.execute(call("stay"), ToolContext(run=ctx))
    assert (result.is_error, result.text) == (True, "Timed out after 1.5 s.")
    assert asyncio.get_running_loop().time() - began == 1.5
    await asyncio.sleep(60)
    assert cleaned == ["at last"]
    assert log.getvalue().count("tool stay ignores that it was cancelled") == 1


@pytest.mark.virtual_time
async def test_a_tool_that_ignores_its_cancellation_does_not_hold_up_that_of_the_run(
    ctx: RunContext, log: io.StringIO
) -> None:
    """It gets some seconds to clean up, then it is left behind."""
    registry = ToolRegistry([stubborn([])])
    task = asyncio.create_task(registry.execute(call("stay"), ToolContext(run=ctx)))
    await asyncio.sleep(1)
    task.cancel()
    began = asyncio.get_running_loop().time()
    await asyncio.wait([task])
    assert task.cancelled()
    assert asyncio.get_running_loop().time() - began == 5.0
    assert log.getvalue().count("tool stay ignores that it was cancelled") == 1
    await asyncio.sleep(60)


@pytest.mark.virtual_time
async def test_cancellation_passes_through() -> None:
    """It is the one thing that no tool's error may hide."""

    @tool
    async def slow() -> None:
        """Be slow."""
        await asyncio.sleep(3600)

    task = asyncio.create_task(ToolRegistry([slow]).execute(call("slow")))
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_tool_knows_its_call() -> None:
    """The context says which call it serves, on top of what the caller gave."""

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look."""
        assert ctx.call is not None
        return f"{ctx.call.id} {ctx.session_id}"

    result = await ToolRegistry([look]).execute(call("look"), ToolContext(session_id="s1"))
    assert result.text == "c1 s1"


async def test_a_tool_cannot_change_the_history() -> None:
    """It gets arguments of its own, however it treats them."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> None:
        arguments["list"].append("changed")

    asked = call("t", list=["a"])
    await ToolRegistry([Tool("t", "", {}, execute)]).execute(asked)
    assert asked.arguments == {"list": ["a"]}


@pytest.mark.parametrize("error", [OSError("oops"), Stop("oops"), SystemExit("oops")])
async def test_an_approver_that_fails_is_an_error_result(error: BaseException) -> None:
    """A call that nobody approved is not run."""

    def approve(asked: ToolCall) -> bool:
        raise error

    made = tool(name="pay", needs_approval=True)(lambda: pytest.fail("was run"))
    result = await ToolRegistry([made]).execute(call("pay"), approve=approve)
    assert result.is_error
    assert f"Approval failed: {type(error).__name__}: oops" in result.text
