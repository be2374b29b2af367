"""What the Messages API refuses in a JSON schema, of tools and of answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_CHOICES = ("oneOf", "allOf", "anyOf")
_KEYWORDS = {
    *("type", "description", "enum", "const", "anyOf", "$defs", "$ref", "format"),
    *("properties", "required", "additionalProperties", "items", "minItems"),
}
_FORMATS = (
    *("date-time", "time", "date", "duration", "email"),
    *("hostname", "uri", "ipv4", "ipv6", "uuid"),
)


def tool_problem(schema: Any) -> str | None:
    """Return why a schema cannot be that of a tool's input, or None if it can."""
    if not isinstance(schema, dict):
        return ": Field required"
    if schema.get("type") != "object":
        return ".type: Input should be 'object'"
    if any(choice in schema for choice in _CHOICES):
        return ": input_schema does not support oneOf, allOf, or anyOf at the top level"
    if not all(_KEY.fullmatch(key) for key in schema.get("properties", {})):
        return f".properties: Property keys should match pattern '^{_KEY.pattern}$'"
    problem = next(_draft_problems(schema), None)
    if problem is None:
        return None
    return f": JSON schema is invalid. It must match JSON Schema draft 2020-12 ({problem})"


def output_problem(schema: Any) -> str | None:
    """Return why a schema cannot be that of an answer, or None if it can."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "Expected an object at the root"
    if _is_recursive(schema, schema.get("$defs", {}), ()):
        return "Circular reference detected in schema definitions"
    return next(_output_problems(schema, "root"), None)


def _draft_problems(node: Any) -> Iterator[str]:
    if isinstance(node, bool):
        return
    if not isinstance(node, dict):
        yield f"{node!r} is no schema"
        return
    kinds = node.get("type", "object")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            yield f"unknown type {kind!r}"
    if not isinstance(node.get("required", []), list):
        yield "'required' is no list"
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if type(node.get(name, 0)) not in (int, float):
            yield f"{name!r} is no number"
    for inner in _inner(node):
        yield from _draft_problems(inner)


def _output_problems(node: Any, where: str) -> Iterator[str]:
    if not isinstance(node, dict):
        yield f"{where}: {node!r} is no schema"
        return
    for keyword in sorted(node.keys() - _KEYWORDS):
        yield f"{where}: {keyword!r} is not supported"
    if not node.keys() & {"type", "anyOf", "enum", "const", "$ref"}:
        yield f"{where}: a schema needs a type"
    if not isinstance(node.get("type", ""), str):
        yield f"{where}: a list of types is not supported"
    if node.get("format", "date") not in _FORMATS:
        yield f"{where}: format {node['format']!r} is not supported"
    if node.get("minItems", 0) not in (0, 1):
        yield f"{where}: 'minItems' other than 0 and 1 is not supported"
    if node.get("type") == "array" and "items" not in node:
        yield f"{where}: an array needs 'items'"
    if node.get("type") == "object" and node.get("additionalProperties") is not False:
        yield f"{where}: 'additionalProperties' must be explicitly set to false"
    for name in node.get("required", ()):
        if name not in node.get("properties", {}):
            yield f"{where}: {name!r} is required and no property"
    for inner in _inner({k: v for k, v in node.items() if k != "additionalProperties"}):
        yield from _output_problems(inner, f"{where}/…")


def _inner(node: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in ("properties", "$defs"):
        yield from node.get(keyword, {}).values()
    for keyword in _CHOICES:
        yield from node.get(keyword, ())
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            yield node[keyword]


def _is_recursive(node: Any, definitions: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    if not isinstance(node, dict):
        return False
    name = str(node.get("$ref", "")).rsplit("/", 1)[-1]
    if name in path:
        return True
    if name and _is_recursive(definitions.get(name), definitions, (*path, name)):
        return True
    below = {key: value for key, value in node.items() if key != "$defs"}
    return any(_is_recursive(inner, definitions, path) for inner in _inner(below))
