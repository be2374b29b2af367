"""What the Chat Completions API refuses in a JSON schema, in tools and in strict mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_KEYWORDS = {
    *("type", "title", "description", "enum", "const", "anyOf", "$defs", "definitions", "$ref"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("pattern", "format", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_FORMATS = {
    *("date-time", "time", "date", "duration"),
    *("email", "hostname", "ipv4", "ipv6", "uuid"),
}
_DEEPEST = 10
Context = tuple[str, ...]


def object_problem(schema: Any) -> str | None:
    """Return why a schema cannot be that of a tool's parameters, or None if it can."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        kind = schema.get("type") if isinstance(schema, dict) else schema
        return f"schema must be of 'type: \"object\"', got 'type: {kind!r}'"
    if not isinstance(schema.get("properties"), dict):
        return "In context=(), object schema missing properties"
    return None


def strict_problem(schema: Any) -> str | None:
    """Return the first thing that strict mode refuses about a schema, or None."""
    problem = object_problem(schema)
    if problem:
        return problem
    if "anyOf" in schema or "$ref" in schema:
        return "In context=(), the root must be an object itself"
    return next(_problems(schema, (), schema), None)


def _problems(schema: Any, context: Context, root: dict[str, Any]) -> Iterator[str]:
    where = f"In context={context}, "
    if not isinstance(schema, dict):
        yield f"{where}{schema!r} is not a schema"
        return
    for keyword in sorted(schema.keys() - _KEYWORDS):
        yield f"{where}'{keyword}' is not permitted"
    if "$ref" in schema:
        yield from _reference_problems(schema, where, root)
        return
    if "type" not in schema and "anyOf" not in schema:
        yield f"{where}schema must have a 'type' key"
    if schema.get("format", "date") not in _FORMATS:
        yield f"{where}'{schema['format']}' is not a valid format"
    if "items" not in schema and _is(schema, "array"):
        yield f"{where}array schema missing items"
    if "properties" in schema or _is(schema, "object"):
        yield from _object_problems(schema, where)
    if context.count("properties") > _DEEPEST:
        yield f"{where}more than {_DEEPEST} levels of nesting"
    for name, inner in _inner(schema):
        yield from _problems(inner, (*context, *name), root)


def _reference_problems(schema: dict[str, Any], where: str, root: dict[str, Any]) -> Iterator[str]:
    others = sorted(schema.keys() - {"$ref"})
    if others:
        yield f"{where}$ref cannot have keywords {others}"
    path = str(schema["$ref"]).split("/")
    found: Any = root
    for name in path[1:]:
        found = found.get(name) if isinstance(found, dict) else None
    if path[0] != "#" or found is None:
        yield f"{where}reference '{schema['$ref']}' cannot be resolved"


def _object_problems(schema: dict[str, Any], where: str) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield f"{where}'additionalProperties' is required to be supplied and to be false"
    properties, required = schema.get("properties", {}), schema.get("required")
    if not isinstance(required, list) or set(required) != set(properties):
        yield f"{where}'required' must be an array of every key in properties"


def _inner(schema: dict[str, Any]) -> Iterator[tuple[Context, Any]]:
    for keyword in ("properties", "$defs", "definitions"):
        for name, inner in schema.get(keyword, {}).items():
            yield (keyword, name), inner
    for index, inner in enumerate(schema.get("anyOf", ())):
        yield ("anyOf", str(index)), inner
    if "items" in schema:
        yield ("items",), schema["items"]


def _is(schema: dict[str, Any], kind: str) -> bool:
    return schema.get("type") == kind or (
        isinstance(schema.get("type"), list) and kind in schema["type"]
    )
