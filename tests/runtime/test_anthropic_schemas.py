"""What the fake of the Messages API refuses in a JSON schema."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.tests.anthropic_schemas import output_problem, tool_problem

CLOSED = {"type": "object", "additionalProperties": False}
LOOP = {"$ref": "#/$defs/A"}


def parameter(schema: Any) -> dict[str, Any]:
    """Return an object with one property of this schema."""
    return {**CLOSED, "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "Field required"),
        ({}, "should be 'object'"),
        ({"type": "array"}, "should be 'object'"),
        ({"type": "object", "anyOf": []}, "at the top level"),
        ({"type": "object", "properties": {"a b": {}}}, "Property keys should match"),
        (parameter({"type": "text"}), "unknown type 'text'"),
        (parameter({"type": ["string", "text"]}), "unknown type 'text'"),
        (parameter({"items": []}), "is no schema"),
        (parameter({"exclusiveMinimum": True}), "is no number"),
        (parameter({"required": True}), "is no list"),
    ],
)
def test_a_tools_schema_is_checked(schema: Any, reason: str) -> None:
    """By the draft of JSON Schema, and more strictly at the root."""
    assert reason in str(tool_problem(schema))


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "Expected an object"),
        ({"type": "object"}, "'additionalProperties' must be"),
        ({**CLOSED, "additionalProperties": {"type": "string"}}, "'additionalProperties' must be"),
        ({**CLOSED, "required": ["a"]}, "is required and no property"),
        (parameter({"type": "integer", "minimum": 1}), "'minimum' is not supported"),
        (parameter({"type": "object"}), "'additionalProperties' must be"),
        (parameter({}), "needs a type"),
        (parameter(True), "is no schema"),
        (parameter({"type": ["string", "null"]}), "a list of types"),
        (parameter({"type": "array"}), "needs 'items'"),
        (parameter({"type": "array", "items": LOOP, "minItems": 2}), "'minItems' other than"),
        (parameter({"type": "string", "format": "path"}), "format 'path'"),
        ({**parameter(LOOP), "$defs": {"A": {"anyOf": [LOOP]}}}, "Circular reference"),
    ],
)
def test_an_answers_schema_is_checked(schema: Any, reason: str) -> None:
    """Every object is closed, and nothing is said that cannot be enforced."""
    assert reason in str(output_problem(schema))


@pytest.mark.parametrize("problem", [tool_problem, output_problem])
def test_a_usual_schema_is_taken(problem: Any) -> None:
    """Choices, references and lists are fine below the root."""
    choice = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}, LOOP]}
    schema = {**parameter(choice), "required": ["a"]}
    schema["$defs"] = {"A": {"type": "array", "items": {"enum": [1, 2]}, "minItems": 1}}
    assert problem(schema) is None
