"""`@tool`: the schema is the signature, the description the docstring, and threads are its own."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from ...errors import ConfigError
from ...messages import ToolCall
from ...tools.tool import Tool, ToolContext, tool


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


async def test_a_plain_function_may_return_a_coroutine() -> None:
    """A wrapper that is not async round a function that is: the result is awaited."""

    async def answer() -> str:
        return threading.current_thread().name

    made = tool(name="wrapped")(lambda: answer())
    assert await run(made, {}) == threading.current_thread().name


def _untyped(q) -> None: ...  # type: ignore[no-untyped-def]


def _star(*q: str) -> None: ...


def _stars(**q: str) -> None: ...


def _unknown(q: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _odd(q: threading.Thread) -> None: ...


async def _endless() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_untyped, "parameter 'q' needs a type annotation"),
        (_star, r"\*q has no schema; name each parameter"),
        (_stars, r"\*q has no schema; name each parameter"),
        (_unknown, "an annotation cannot be resolved"),
        (_odd, "no JSON schema for its parameters"),
        (_endless, "an async generator has no one result"),
        (lambda: None, "use 1 to 64 letters"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused(function: Any, problem: str) -> None:
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
