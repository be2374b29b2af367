"""What a tool returns becomes something that can be sent, stored and read, whatever it is."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from ...messages import Image, Message, Text, ToolCall, ToolResult
from ...tools.content import LONGEST_RESULT
from ...tools.registry import ToolRegistry
from ...tools.tool import Tool, ToolContext, tool


class Shout(str):
    """A text with ideas of its own."""

    def __len__(self) -> int:
        raise RuntimeError("how long?")


class Slow:
    """A value that takes its time to say what it is."""

    def __init__(self) -> None:
        self.read_in: threading.Thread | None = None

    def __repr__(self) -> str:
        self.read_in = threading.current_thread()
        return "slow"


class Broken:
    """A value that cannot be read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error


class Point(BaseModel):
    """A pydantic model."""

    x: int
    label: str = "nghĩa"


@dataclass
class Pair:
    """A dataclass."""

    a: int


@dataclass
class Held:
    """A dataclass that holds anything."""

    value: Any


async def result_of(value: Any) -> ToolResult:
    """Return the result of a tool that returns this value."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> Any:
        return value

    return await ToolRegistry([Tool("give", "", {}, execute)]).execute(ToolCall("c1", "give"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", "(no output)"),
        (None, "(no output)"),
        (7, "7"),
        ({"x": float("nan"), "y": [float("inf")]}, '{"x":"NaN","y":["Infinity"]}'),
        (True, "true"),
        ({"a": "nghĩa 🌍"}, '{"a":"nghĩa 🌍"}'),
        ([1, "b", None], '[1,"b",null]'),
        ([], "[]"),
        ({"t": datetime(2026, 11, 30, 12)}, '{"t":"2026-11-30T12:00:00"}'),
        ({"d": Decimal("1.10")}, '{"d":"1.10"}'),
        (UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (Point(x=1), '{"x":1,"label":"nghĩa"}'),
        (Pair(1), '{"a":1}'),
        ({7}, "[7]"),
        (b"\x00\xff", '"AP8="'),
        ("half \ud83d", "half \ufffd"),
        ({"half": "\ud83d"}, '{"half":"\ufffd"}'),
        ({"when": {datetime(2026, 1, 1): 1}}, '{"when":{"2026-01-01T00:00:00":1}}'),
    ],
)
async def test_what_a_tool_returns_becomes_text(value: Any, text: str) -> None:
    """Text as it is, anything else as JSON that people can read."""
    result = await result_of(value)
    assert (result.text, result.is_error) == (text, False)


@pytest.mark.parametrize(
    "value", [object(), float("nan"), {"\ud83d": 1}, {(1, 2): 3}, lambda: 1, {"x": object()}]
)
async def test_any_value_can_be_sent(value: Any) -> None:
    """Whatever it is, the message can be encoded and stored."""
    result = await result_of(value)
    message = Message("tool", (result,))
    assert result.text
    assert Message.from_json(message.to_json()) == message
    assert json.dumps(result.text, ensure_ascii=False).encode()


async def test_a_value_that_holds_itself_can_be_sent() -> None:
    """A cycle is shown as Python shows it."""
    cycle: list[Any] = []
    cycle.append(cycle)
    assert (await result_of(cycle)).text


@pytest.mark.parametrize("value", ["a" * 2_000_000, {"text": "a" * 2_000_000}, Text("a" * 200_000)])
async def test_a_long_result_is_shortened_in_its_middle(value: Any) -> None:
    """With a marker that says how much is gone."""
    text = (await result_of(value)).text
    assert len(text) < LONGEST_RESULT + 100
    assert "characters left out" in text


async def test_images_are_kept() -> None:
    """Parts are sent as parts."""
    image = Image("image/png", "aGk=")
    assert (await result_of(image)).content == (image,)
    assert (await result_of([Text("look"), image])).content == (Text("look"), image)


async def _some() -> AsyncIterator[int]:
    yield 1


async def _one() -> int:
    return 1


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: (n for n in range(3)), "generator"),
        (itertools.count, "count"),
        (lambda: map(str, [1]), "map"),
        (lambda: {"rows": [iter([1])]}, "list_iterator"),
        (lambda: Held(n for n in range(3)), "generator"),
        (_some, "async_generator"),
        (lambda: {"later": _one()}, "coroutine"),
    ],
    ids=["generator", "count", "map", "inside", "held", "async_generator", "coroutine"],
)
async def test_what_is_no_value_yet_is_refused(make: Callable[[], Any], kind: str) -> None:
    """Nobody knows whether it ends; the error says what it is and what to do."""
    result = await result_of(make())
    assert result.is_error
    assert result.text.startswith(f"The tool returned {kind}, which is no value yet")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (Text(5), "Text with int in place of text"),  # type: ignore[arg-type]
        ([Image("image/png", b"x")], "Image with bytes in place of text"),  # type: ignore[arg-type]
        (Broken(RuntimeError("oops")), "oops"),
        (Broken(SystemExit("oops")), "oops"),
        (Broken(KeyboardInterrupt("oops")), "oops"),
    ],
)
async def test_a_value_that_cannot_be_read_is_an_error_result(value: Any, problem: str) -> None:
    """It costs the call, never the run."""
    result = await result_of(value)
    assert result.is_error
    assert problem in result.text


async def test_only_the_text_of_a_text_is_taken() -> None:
    """A subclass may have methods that fail later on."""
    [part] = (await result_of(Shout("hi"))).content
    assert isinstance(part, Text)
    assert type(part.text) is str


async def test_a_plain_function_has_its_result_read_in_its_thread() -> None:
    """What belongs to a thread, such as a database row, can be read there only."""
    ran_in: list[threading.Thread] = []
    value = Slow()

    @tool
    def give() -> Slow:
        """Give."""
        ran_in.append(threading.current_thread())
        return value

    result = await ToolRegistry([give]).execute(ToolCall("c1", "give"))
    assert result.text == '"slow"'
    assert [value.read_in] == ran_in


async def test_an_async_tool_has_its_result_read_beside_the_event_loop() -> None:
    """Code of a value's own cannot stop the loop."""
    value = Slow()
    await result_of(value)
    assert value.read_in not in (None, threading.current_thread())


@pytest.mark.virtual_time
async def test_reading_a_result_is_part_of_the_tools_time() -> None:
    """A value that never ends to say what it is times out."""
    go = threading.Event()

    class Endless:
        def __repr__(self) -> str:
            go.wait(5)
            return "late"

    @tool(timeout=1.5)
    async def give() -> object:
        """Give."""
        return Endless()

    result = await ToolRegistry([give]).execute(ToolCall("c1", "give"))
    go.set()
    assert (result.is_error, result.text) == (True, "Timed out after 1.5 s.")
