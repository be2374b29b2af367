"""`@tool`: the schema is the signature, the description the docstring, and threads are its own."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from ...errors import ConfigError
from ...messages import ToolCall
from ...tools.tool import Tool, ToolContext, run_in_thread, tool
from ..test_structure import ROOT


class Place(BaseModel):
    """A place."""

    city: str
    country: str = "VN"


@tool
async def forecast(
    place: Place,
    days: Annotated[int, Field(ge=1, le=7, description="How many days")] = 1,
    unit: Literal["c", "f"] = "c",
    note: str | None = None,
) -> str:
    """Return a forecast.

    In one line.
    """
    return f"{place.city} {days} {unit} {note}"


async def run(made: Tool, arguments: dict[str, Any], ctx: ToolContext | None = None) -> Any:
    """Validate and call, as the registry does."""
    return await made.execute(made.validate(arguments), ctx or ToolContext())


def test_name_and_description() -> None:
    """The function's name, and its docstring without the indentation."""
    assert forecast.name == "forecast"
    assert forecast.description == "Return a forecast.\n\nIn one line."


def test_the_schema_is_the_signature() -> None:
    """Types, defaults, descriptions, bounds; only what has no default is required."""
    schema = forecast.parameters
    properties = schema["properties"]
    assert (schema["type"], schema["required"]) == ("object", ["place"])
    assert properties["days"]["description"] == "How many days"
    assert (properties["days"]["minimum"], properties["days"]["default"]) == (1, 1)
    assert properties["unit"]["enum"] == ["c", "f"]
    assert schema["additionalProperties"] is False


async def test_arguments_become_what_the_signature_says() -> None:
    """A model's JSON arrives as a pydantic model, defaults filled in."""
    assert await run(forecast, {"place": {"city": "Huế"}, "days": "3"}) == "Huế 3 c None"


def test_the_context_is_hidden_from_the_model() -> None:
    """It is no argument, wherever it stands and whatever it is called."""

    @tool
    async def who(context: ToolContext, name: str) -> str:
        """Say who."""
        return f"{context.user_id} {name}"

    assert list(who.parameters["properties"]) == ["name"]


async def test_the_context_is_filled_in() -> None:
    """A model cannot set it either."""

    @tool
    async def who(ctx: ToolContext) -> str | None:
        """Say who."""
        return ctx.user_id

    assert await run(who, {}, ToolContext(user_id="me")) == "me"
    with pytest.raises(ValueError, match="ctx"):
        who.validate({"ctx": {"user_id": "other"}})


def test_options() -> None:
    """Name, timeout and approval can be set; the defaults are a minute and none."""

    @tool(name="other", timeout=None, needs_approval=True)
    def made() -> None: ...

    assert (made.name, made.timeout, made.needs_approval) == ("other", None, True)
    assert (forecast.timeout, forecast.needs_approval) == (60.0, False)


def test_approval_may_depend_on_the_call() -> None:
    """A callable decides, call by call."""

    @tool(needs_approval=lambda call: call.arguments["amount"] > 100)
    async def pay(amount: int) -> None:
        """Pay."""

    assert pay.asks_first(ToolCall("c1", "pay", {"amount": 101}))
    assert not pay.asks_first(ToolCall("c1", "pay", {"amount": 100}))


async def test_a_plain_function_runs_in_a_thread_of_its_own() -> None:
    """Not in the event loop, and not in the default executor that others wait for."""

    @tool
    def where() -> tuple[str, bool]:
        """Say where."""
        return threading.current_thread().name, threading.current_thread().daemon

    name, daemon = await run(where, {})
    assert name == "tool"
    assert daemon


async def test_a_thread_sees_the_context_variables() -> None:
    """What a request set is known in its tools."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("of the request")
    assert await run_in_thread(variable.get) == "of the request"


@pytest.mark.parametrize(
    ("error", "raised"),
    [(ValueError("x"), ValueError), (StopIteration("x"), RuntimeError)],
)
async def test_what_a_thread_raises_is_raised_here(error: Exception, raised: Any) -> None:
    """Also StopIteration, which no future takes."""

    def fail() -> None:
        raise error

    with pytest.raises(raised, match="x"):
        await run_in_thread(fail)


async def test_a_cancelled_thread_is_left_behind() -> None:
    """The wait ends at once; what the thread returns later is dropped."""
    go, done = threading.Event(), threading.Event()

    def work() -> str:
        go.wait(5)
        done.set()
        return "late"

    task = asyncio.create_task(run_in_thread(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not done.is_set()
    go.set()
    assert done.wait(5)
    await asyncio.sleep(0)


def test_a_thread_that_never_ends_does_not_keep_the_process() -> None:
    """A hanging tool must not hang the exit."""
    program = (
        "import asyncio, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from agentkit.tools.tool import run_in_thread\n"
        "async def main():\n"
        "    task = asyncio.create_task(run_in_thread(lambda: time.sleep(60)))\n"
        "    await asyncio.sleep(0.05); task.cancel()\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", program, str(ROOT.parent)]
    assert subprocess.run(command, timeout=20, check=False).returncode == 0


def _untyped(q) -> None: ...  # type: ignore[no-untyped-def]


def _star(*q: str) -> None: ...


def _stars(**q: str) -> None: ...


def _unknown(q: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _odd(q: threading.Thread) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_untyped, "parameter 'q' needs a type annotation"),
        (_star, r"\*q has no schema; name each parameter"),
        (_stars, r"\*q has no schema; name each parameter"),
        (_unknown, "an annotation cannot be resolved"),
        (_odd, "no JSON schema for its parameters"),
        (lambda: None, "use 1 to 64 letters"),
    ],
)
def test_a_signature_without_a_schema_is_refused(function: Any, problem: str) -> None:
    """When the tool is made, in one line that names it."""
    with pytest.raises(ConfigError, match=problem) as caught:
        tool(function)
    assert "\n" not in str(caught.value)


async def test_a_method_is_a_tool_too() -> None:
    """Its object is bound, not asked for."""

    @dataclass
    class Words:
        known: dict[str, str]

        async def look_up(self, word: str) -> str:
            """Look up a word."""
            return self.known[word]

    made = tool(Words({"a": "b"}).look_up)
    assert list(made.parameters["properties"]) == ["word"]
    assert await run(made, {"word": "a"}) == "b"
