"""Messages, tools and schemas in the form of the Responses API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ....llm.providers.openai_wire import wire_message, wire_tools
from ....messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ....tools.tool import Tool
from ...responses_rules import check_parameters

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
DIALECT = "responses:m"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
THOUGHT = Thinking("", {DIALECT: REASONING})
IMAGE = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}


def items(role: Any, *parts: Part) -> list[dict[str, Any]]:
    """Return the input items of one message."""
    found: list[dict[str, Any]] = json.loads(f"[{wire_message(Message(role, parts), DIALECT)}]")
    return found


def sent(parameters: dict[str, Any], description: str = "Does it.") -> dict[str, Any]:
    """Return a tool as it is sent, which the API would accept."""
    (wire,) = json.loads(wire_tools((tool(parameters, description),), pytest.fail))
    check_parameters({"model": "gpt-5", "input": ["…"], "store": False, "tools": [wire]})
    found: dict[str, Any] = wire
    return found


def tool(parameters: dict[str, Any], description: str = "Does it.") -> Tool:
    """Return a tool with a schema of its own."""

    async def execute(arguments: dict[str, Any], ctx: object) -> None: ...

    return Tool("t", description, parameters, execute)


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_text_is_sent_as_it_is(role: str) -> None:
    """The short form of a message."""
    assert items(role, Text("hi")) == [{"role": role, "content": "hi"}]


def test_an_image_of_the_user_is_a_data_url() -> None:
    """Next to the text, in its place."""
    (item,) = items("user", Text("see"), Image("image/png", PIXEL))
    assert item["content"] == [{"type": "input_text", "text": "see"}, IMAGE]


def test_reasoning_goes_back_unchanged_and_in_its_place() -> None:
    """Before the call or the text that it led to, each time."""
    second = {**REASONING, "id": "rs_2"}
    parts = (THOUGHT, Text("Let me see."), Thinking("", {DIALECT: second}), ToolCall("c1", "f"))
    assert items("assistant", *parts) == [
        REASONING,
        {"role": "assistant", "content": "Let me see."},
        second,
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]


@pytest.mark.parametrize("key", ["anthropic", "responses:other", "responses:m@h"])
def test_reasoning_of_another_dialect_is_left_out(key: str) -> None:
    """No other model, server or provider is shown what it cannot read."""
    parts = (Thinking("hm", {key: {"signature": "secret"}}), Text("hi", {key: {"x": 1}}))
    assert items("assistant", *parts) == [{"role": "assistant", "content": "hi"}]


@pytest.mark.parametrize("parts", [(THOUGHT,), (THOUGHT, Text(" ")), (Text(""),), ()])
def test_reasoning_that_led_to_nothing_is_not_sent(parts: tuple[Part, ...]) -> None:
    """The API wants the item that follows; a turn that was cut off has none."""
    assert items("assistant", *parts) == []


def test_the_phase_of_a_text_goes_back() -> None:
    """Newer models take their own comments for answers without it."""
    text = Text("Looking it up.", {DIALECT: {"phase": "commentary"}})
    assert items("assistant", text)[0]["phase"] == "commentary"


def test_results_are_outputs_of_their_calls() -> None:
    """One item each; an error is marked."""
    results = (
        ToolResult("c1", "f", (Text("42"),)),
        ToolResult("c2", "f", (Text("no such word"),), is_error=True),
        ToolResult("c3", "f"),
    )
    assert [(item["call_id"], item["output"]) for item in items("tool", *results)] == [
        ("c1", "42"),
        ("c2", "Error: no such word"),
        ("c3", ""),
    ]


def test_an_image_in_a_result_stays_in_it() -> None:
    """The API takes images where the tool gave them."""
    picture = (Text("a pixel"), Image("image/png", PIXEL))
    (fine, failed) = items(
        "tool", ToolResult("c1", "f", picture), ToolResult("c2", "f", picture, is_error=True)
    )
    assert fine["output"] == [{"type": "input_text", "text": "a pixel"}, IMAGE]
    assert failed["output"][0] == {"type": "input_text", "text": "Error:"}


@pytest.mark.parametrize("call_id", ["x" * 65, "functions.f:0", "", "nghĩa", "\ud83d"])
def test_an_id_of_another_provider_is_made_legal(call_id: str) -> None:
    """The same one for the call and its result, and another one for another call."""
    call, other = items("assistant", ToolCall(call_id, "f"), ToolCall(f"{call_id}!", "f"))
    (output,) = items("tool", ToolResult(call_id, "f"))
    assert call["call_id"] == output["call_id"] != other["call_id"]
    assert 0 < len(call["call_id"]) <= 64
    assert call["call_id"].isalnum()


def test_an_id_that_is_accepted_stays_as_it_is() -> None:
    """The provider's own can be found again in its logs."""
    call_id = "call_" + "x" * 59
    assert items("assistant", ToolCall(call_id, "f"))[0]["call_id"] == call_id


@pytest.mark.parametrize(
    ("name", "legal"), [("get.word", "get_word"), ("x" * 70, "x" * 64), ("", "unknown")]
)
def test_a_name_that_the_model_invented_is_made_legal(name: str, legal: str) -> None:
    """The turn stays in the history, so it must be accepted."""
    assert items("assistant", ToolCall("c1", name))[0]["name"] == legal


def test_malformed_arguments_are_sent_as_an_empty_object() -> None:
    """The API refuses what is no JSON; what was wrong stands in the result."""
    assert items("assistant", ToolCall("c1", "f", {}, '{"q": "a'))[0]["arguments"] == "{}"


def test_half_characters_are_mended() -> None:
    """Whatever a tool returns, the body can be encoded."""
    assert items("tool", ToolResult("c1", "f", (Text("\ud83d"),)))[0]["output"] == "\ufffd"


def test_a_tool_is_sent_with_its_schema_and_not_strict() -> None:
    """Strictly, optional arguments would become required ones; it is what the API assumes."""
    parameters = {"type": "object", "properties": {"q": {"type": ["string", "null"]}}}
    assert sent(parameters) == {
        "type": "function",
        "name": "t",
        "description": "Does it.",
        "parameters": parameters,
        "strict": False,
    }


def test_a_tool_without_a_description_has_no_empty_one() -> None:
    """Nor are properties missing where there are no parameters."""
    wire = sent({}, description="")
    assert "description" not in wire
    assert wire["parameters"] == {"type": "object", "properties": {}}


def test_an_array_of_anything_is_said_so_on_a_copy() -> None:
    """The API refuses an array without items, at any depth."""
    node = {"type": "object", "properties": {"rows": {"type": ["array", "null"]}}}
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "array"}, "b": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"anyOf": [node, {"type": "null"}]}},
    }
    before = json.dumps(parameters)
    wire = sent(parameters)["parameters"]
    assert wire["properties"]["a"]["items"] == {}
    assert wire["$defs"]["n"]["anyOf"][0]["properties"]["rows"]["items"] == {}
    assert json.dumps(parameters) == before


def test_recursion_and_free_form_dicts_are_fine_in_a_tool() -> None:
    """A schema that refers to itself is sent as it is."""
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}
    free = {"type": "object", "additionalProperties": {"type": "integer"}}
    parameters = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/tree"}, "free": free},
        "$defs": {"tree": tree},
    }
    assert sent(parameters)["parameters"] == parameters


def _endless() -> dict[str, Any]:
    properties: dict[str, Any] = {}
    properties["again"] = {"type": "object", "properties": properties}
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "parameters",
    [
        *({"type": "object", key: []} for key in ("oneOf", "anyOf", "allOf", "enum", "not")),
        {"type": "object", "properties": {"x": {"default": float("nan")}}},
        {"type": "object", "properties": {"x": {"enum": {1, 2}}}},
        _endless(),
    ],
)
def test_a_tool_that_cannot_be_sent_is_left_out_and_told(parameters: dict[str, Any]) -> None:
    """One odd tool does not cost the others."""
    told: list[str] = []
    wire = wire_tools((tool(parameters), tool({})), told.append)
    assert len(json.loads(wire)) == 1
    assert len(told) == 1
    assert told[0].startswith("openai: the tool t is left out: ")
