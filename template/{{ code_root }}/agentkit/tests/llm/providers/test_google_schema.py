"""Schemas in Gemini's own words: what it knows is kept, what it does not know only widens."""

from __future__ import annotations

import copy
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from ....llm.providers.google_schema import wire_schema, wire_tools
from ....llm.schema import output_schema
from ....tools.tool import Tool, tool
from ...gemini_rules import check_schema


class Word(BaseModel):
    """A word."""

    text: str = Field(min_length=1, pattern="[a-z]+", examples=["x"])
    kind: Literal["noun"] = "noun"
    rank: Annotated[int, Field(gt=0, le=9)] | None = None


class Tree(BaseModel):
    """A recursive type."""

    word: Word
    children: list[Tree]


class Left(BaseModel):
    """One half of a cycle."""

    right: Right


class Right(BaseModel):
    """The other half."""

    left: Left
    note: str


class Forest(BaseModel):
    """Refers to recursive types."""

    trees: list[Tree]
    pair: Left | None = None


async def nothing(arguments: dict[str, Any], ctx: object) -> None:
    """Do nothing."""


def made(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the wire form of an object with one property `x`."""
    properties: dict[str, Any] = wire_schema({"type": "object", "properties": {"x": parameters}})
    found: dict[str, Any] = properties["properties"]["x"]
    return found


@pytest.mark.parametrize(
    "type_", [Word, Tree, Left, Forest, list[int], dict[str, int], list[Tree], int | str], ids=str
)
def test_every_type_of_answer_is_accepted(type_: Any) -> None:
    """Nested, optional, recursive, free-form, wrapped: the fake knows what the API refuses."""
    check_schema(wire_schema(output_schema(type_).schema), "answer")


def test_the_callers_schema_is_not_changed() -> None:
    """A copy is made."""
    schema = output_schema(Forest).schema
    before = copy.deepcopy(schema)
    wire_schema(schema)
    assert schema == before


def test_what_gemini_does_not_know_is_left_out() -> None:
    """Lengths, patterns, titles, defaults and examples; descriptions and limits stay."""
    wire = wire_schema(output_schema(Word).schema)
    assert wire["properties"]["text"] == {"type": "string"}
    assert wire["properties"]["rank"]["anyOf"] == [
        {"type": "integer", "maximum": 9},
        {"type": "null"},
    ]
    assert wire["required"] == ["text"]


def test_a_property_may_be_named_like_a_keyword() -> None:
    """Only schemas are tidied, not names."""
    properties = {"title": {"type": "string", "title": "T"}, "default": {"type": "integer"}}
    wire = wire_schema({"type": "object", "properties": properties})
    assert wire["properties"] == {"title": {"type": "string"}, "default": {"type": "integer"}}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        ({"const": 1, "type": "integer"}, {"enum": [1], "type": "integer"}),
        ({"const": True, "type": "boolean"}, {"type": "boolean"}),
        ({"enum": ["a", None]}, {}),
        ({"enum": [1, 2.5]}, {"enum": [1, 2.5], "type": "number"}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uuid"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"allOf": [{"type": "string"}], "description": "d"},
            {"type": "string", "description": "d"},
        ),
        ({"type": "array", "items": True}, {"type": "array", "items": True}),
        ({"not": {"type": "string"}}, {}),
        ({"$ref": "#/$defs/Missing"}, {}),
        ({"$ref": "http://elsewhere/schema"}, {}),
        (True, {}),
    ],
)
def test_each_keyword_is_said_or_left_out(given: Any, sent: Any) -> None:
    """Never so that a good answer would be refused."""
    assert made(given) == sent


def test_definitions_of_older_drafts_are_understood() -> None:
    """Tools of other servers use `definitions`."""
    word = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {"w": {"$ref": "#/definitions/Word", "description": "a word"}},
        "definitions": {"Word": word},
    }
    wire = wire_schema(schema)
    assert wire["properties"]["w"] == {"$ref": "#/$defs/Word"}
    assert wire["$defs"] == {"Word": word}


def test_a_reference_at_the_root_is_resolved() -> None:
    """The root must be an object itself."""
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"type": "object", "properties": {}, "$ref": "#/$defs/P", "$defs": {"P": point}}
    assert wire_schema(schema)["properties"] == {"x": {"type": "integer"}}


def test_recursion_is_never_required() -> None:
    """The API follows it to some depth and must be able to stop; other fields stay required."""
    wire = wire_schema(output_schema(Forest).schema)["$defs"]
    assert wire["Tree"]["required"] == ["word"]
    assert wire["Right"]["required"] == ["note"]
    assert "required" not in wire["Left"]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"type": "object"}, {"type": "object", "additionalProperties": False}],
)
def test_a_tool_without_parameters_has_no_schema(parameters: dict[str, Any]) -> None:
    """The API refuses an empty object."""
    [declared] = wire_tools([Tool("now", "", parameters, nothing)], pytest.fail)
    assert declared == {"name": "now"}


def test_a_tool_is_declared_with_its_schema() -> None:
    """Name, description, parameters."""

    @tool
    async def find(word: str, limit: int = 3) -> str:
        """Find a word."""
        return word

    [declared] = wire_tools([find], pytest.fail)
    assert (declared["name"], declared["description"]) == ("find", "Find a word.")
    check_schema(declared["parametersJsonSchema"], "parameters")
    assert declared["parametersJsonSchema"]["required"] == ["word"]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("7zip", {}), ("t", {"properties": {"x": {"type": {1}}}}), ("t", {"properties": 7})],
)
def test_a_tool_that_cannot_be_said_is_left_out(name: str, parameters: dict[str, Any]) -> None:
    """One warning for each, and the others go out."""
    warnings: list[str] = []
    odd, fine = Tool(name, "", parameters, nothing), Tool("fine", "", {}, nothing)
    assert wire_tools([odd, fine], warnings.append) == [{"name": "fine"}]
    assert len(warnings) == 1
    assert name in warnings[0]
