"""The fake refuses the schemas that strict mode refuses, at any depth."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.tests.schema_rules import strict_problem


def strict(**properties: Any) -> dict[str, Any]:
    """Return a strict object schema of these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}
BROKEN = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}


def test_a_strict_schema_is_accepted() -> None:
    """Nested objects, arrays, unions, enums, references and recursion are all fine."""
    node = strict(
        text={"type": "string", "pattern": "^a", "format": "date"},
        size={"type": ["integer", "null"], "minimum": 1},
        kind={"type": "string", "enum": ["a", "b"], "description": "which"},
        children={"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 3},
        either={"anyOf": [{"type": "null"}, strict(a=TEXT)]},
    )
    root = {**strict(root={"$ref": "#/$defs/node"}), "$defs": {"node": node}}
    assert strict_problem(root) is None


@pytest.mark.parametrize(
    "schema",
    [
        BROKEN,
        strict(inner=BROKEN),
        strict(inner={"type": "array", "items": BROKEN}),
        strict(inner={"anyOf": [{"type": "null"}, BROKEN]}),
        {**strict(a=TEXT), "$defs": {"inner": BROKEN}},
        strict(map={"type": "object", "additionalProperties": {"type": "integer"}}),
    ],
)
def test_objects_must_be_closed_at_every_depth(schema: dict[str, Any]) -> None:
    """additionalProperties must be false in properties, items, unions and definitions."""
    assert "'additionalProperties' is required" in str(strict_problem(schema))


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array", "items": TEXT}, "must be of 'type"),
        ({"$ref": "#/$defs/a", "$defs": {"a": strict(a=TEXT)}}, "must be of 'type"),
        ({**strict(a=TEXT), "anyOf": [strict(a=TEXT)]}, "the root must be an object itself"),
        ({**strict(a=TEXT), "required": []}, "every key in properties"),
        (strict(a={**TEXT, "default": "x"}), "'default' is not permitted"),
        (strict(a={**TEXT, "minLength": 1}), "'minLength' is not permitted"),
        (strict(a={**TEXT, "format": "uri"}), "'uri' is not a valid format"),
        (strict(a={"oneOf": [TEXT]}), "'oneOf' is not permitted"),
        (strict(a={"type": "array", "prefixItems": [TEXT]}), "'prefixItems' is not permitted"),
        (strict(a={"type": "array"}), "missing items"),
        (strict(a={}), "must have a 'type' key"),
        (strict(a=True), "True is not a schema"),
        (strict(a={"$ref": "#/$defs/gone"}), "cannot be resolved"),
        (
            {**strict(a={"$ref": "#/$defs/b", "description": "x"}), "$defs": {"b": TEXT}},
            "$ref cannot have keywords ['description']",
        ),
    ],
)
def test_what_strict_mode_cannot_say_is_refused(schema: dict[str, Any], reason: str) -> None:
    """Each is refused by the real API, though plain JSON schema allows it."""
    assert reason in str(strict_problem(schema))
