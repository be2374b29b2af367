"""Schemas of tools and answers as the Messages API takes them."""

from __future__ import annotations

import copy
import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, WithJsonSchema

from ....llm.providers.anthropic_schema import instruction, output_format, tools_text
from ....llm.schema import output_schema
from ....tools.tool import Tool, ToolContext
from ...anthropic_schemas import output_problem, tool_problem


class Step(BaseModel):
    """A step."""

    text: str = Field(min_length=1, description="What to do")
    minutes: int = Field(5, ge=0, le=60)


class Plan(BaseModel):
    """A plan."""

    title: str
    kind: Literal["short", "long"] = "short"
    first: Step
    steps: list[Step] = Field(max_length=9)
    note: str | None = None


class Tree(BaseModel):
    """A type that holds itself."""

    children: list[Tree]


class Odd(BaseModel):
    """A type with lists of types, choices and formats."""

    either: Step | Plan
    any_of: Annotated[str, WithJsonSchema({"type": ["string", "integer"]})]
    email: str = Field(json_schema_extra={"format": "email"})
    path: str = Field(json_schema_extra={"format": "path"})
    some: list[int] = Field(min_length=1)


@pytest.mark.parametrize(
    "type_", [Step, Plan, Odd, list[int], list[Plan], int, Step | Plan], ids=str
)
def test_an_answers_schema_is_what_the_api_takes(type_: Any) -> None:
    """Objects are closed at all depths, on a copy."""
    schema = output_schema(type_)
    before = copy.deepcopy(schema.schema)
    wire = output_format(schema)
    assert wire is not None
    assert output_problem(wire["schema"]) is None
    assert schema.schema == before


def test_limits_that_are_not_enforced_are_told() -> None:
    """The model reads them in the description; our own check enforces them."""
    wire = output_format(output_schema(Step))
    assert wire is not None
    properties = wire["schema"]["properties"]
    assert properties["text"]["description"] == "What to do (minLength: 1)"
    assert properties["minutes"]["description"] == "(maximum: 60, minimum: 0)"
    assert wire["schema"]["required"] == ["text"]


@pytest.mark.parametrize(
    "type_", [Tree, dict[str, int], dict[str, Any], Any, tuple[int, str], list[Any]], ids=str
)
def test_an_answer_that_cannot_be_described_is_put_in_words(type_: Any) -> None:
    """Recursion, free keys, fixed places and anything at all are beyond structured outputs."""
    schema = output_schema(type_)
    assert output_format(schema) is None
    assert json.dumps(schema.schema, separators=(",", ":")) in instruction(schema)


def a_tool(parameters: Any) -> Tool:
    """Return a tool with these parameters."""

    async def execute(arguments: dict[str, Any], ctx: ToolContext) -> str:
        return "done"

    return Tool("f", "Does it.", parameters, execute)


ONE = {"properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": False},
        {**ONE, "anyOf": [{"required": ["a"]}]},
        {"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "null"}]}}},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"items": {}}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", **ONE}}},
        {"additionalProperties": {"type": "integer"}},
    ],
)
def test_a_tools_schema_is_what_the_api_takes(parameters: Any) -> None:
    """What only adds conditions at the root is dropped, from a copy."""
    made, before = a_tool(parameters), copy.deepcopy(parameters)
    wire = json.loads(tools_text([made], pytest.fail))
    assert tool_problem(wire["input_schema"]) is None
    assert isinstance(wire["input_schema"]["properties"], dict)
    assert parameters == before


@pytest.mark.parametrize(
    ("parameters", "flaw"),
    [
        ({"oneOf": [ONE, ONE]}, "oneOf at the top level"),
        ({"properties": {"a b": {}}}, "'a b'"),
        ({"properties": {"a": {"type": "text"}}}, "the type 'text'"),
        ({"properties": {"a": {"type": "array", "items": [{}]}}}, "a list where a schema"),
        ({"properties": {"a": {"exclusiveMinimum": True}}}, "'exclusiveMinimum'"),
        ({"properties": {"a": {"required": True}}}, "'required'"),
        ({"properties": {"a": 7}}, "a int where a schema is expected"),
        ({"properties": [7]}, "no JSON schema"),
        ({"properties": {"a": {"type": 7}}}, "no JSON schema"),
        ({"properties": {"a": {"anyOf": 7}}}, "no JSON schema"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "oneOf": []}}}, "top level"),
    ],
)
def test_a_tool_the_api_refuses_is_left_out(parameters: Any, flaw: str) -> None:
    """It would make every request fail; the warning says what is wrong with it."""
    warnings: list[str] = []
    assert tools_text([a_tool(parameters)], warnings.append) == ""
    assert len(warnings) == 1
    assert flaw in warnings[0]
