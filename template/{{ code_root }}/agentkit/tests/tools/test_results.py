"""What a tool returns becomes something that can be sent, stored and read, whatever it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from ...messages import Image, Message, Text, ToolCall, ToolResult
from ...tools.registry import LONGEST_RESULT, ToolRegistry
from ...tools.tool import Tool, ToolContext


class Point(BaseModel):
    """A pydantic model."""

    x: int
    label: str = "nghĩa"


@dataclass
class Pair:
    """A dataclass."""

    a: int


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
