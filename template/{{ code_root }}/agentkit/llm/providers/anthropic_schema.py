"""JSON schemas as the Messages API accepts them, made as copies: of tools, and of answers.

Sources: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, and for tools the
API's own refusals ("input_schema does not support oneOf, allOf, or anyOf at the top level").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...texts import clean, encode_json
from ...tools.tool import Tool
from ..schema import OutputSchema

Schema = dict[str, Any]

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_CHOICES = ("oneOf", "anyOf", "allOf")
_FORMATS = {
    *("date-time", "time", "date", "duration"),
    *("email", "hostname", "uri", "ipv4", "ipv6", "uuid"),
}
_KEPT = ("type", "description", "enum", "const")
_SILENT = ("title", "default", "examples", "discriminator")
_STRUCTURE = ("$defs", "anyOf", "oneOf", "items", "properties", "required", "additionalProperties")
_UNSAYABLE = {"allOf", "not", "if", "prefixItems", "patternProperties", "propertyNames"}


def tools_text(tools: Sequence[Tool], warn: Callable[[str], None]) -> str:
    """Return the tools as JSON objects joined by commas; one that the API refuses is left out."""
    texts = []
    for tool in tools:
        schema = _without_choices(_with_type_at_root(dict(tool.parameters)))
        flaw = _flaw(schema)
        if flaw:
            warn(f"the tool {tool.name} is left out, anthropic does not take its schema: {flaw}")
            continue
        wire = {"name": tool.name, "description": tool.description, "input_schema": schema}
        texts.append(clean(encode_json({k: v for k, v in wire.items() if v})))
    return ",".join(texts)


def output_format(schema: OutputSchema) -> Schema | None:
    """Return `output_config.format` for an answer; None if this API cannot be told its schema.

    It knows no recursion and no objects with free keys; an answer of such a type is asked for in
    words, see `instruction`.
    """
    if _is_recursive(schema.schema, schema.schema.get("$defs", {}), ()):
        return None
    try:
        return {"type": "json_schema", "schema": _closed(schema.schema)}
    except _Unsayable:
        return None


def instruction(schema: OutputSchema) -> str:
    """Return the words that ask for an answer which the API cannot be told the schema of."""
    return (
        "Give the final answer as one JSON value and nothing else, without Markdown. "
        f"It must match this JSON schema:\n{encode_json(schema.schema)}"
    )


def _with_type_at_root(schema: Schema) -> Schema:
    definitions = schema.get("$defs")
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    target = definitions.get(name) if isinstance(definitions, dict) else None
    return {**target, "$defs": definitions} if isinstance(target, dict) else schema


def _without_choices(schema: Schema) -> Schema:
    """Drop what is refused at the root if it only adds conditions; the tool checks them itself."""
    if not schema.get("properties"):
        return schema
    return {key: value for key, value in schema.items() if key not in _CHOICES}


def _flaw(schema: Schema) -> str | None:
    try:
        return _root_flaw(schema) or next(_flaws(schema), None)
    except (AttributeError, RecursionError, TypeError):  # tools come from anywhere
        return "it is no JSON schema"


def _root_flaw(schema: Schema) -> str | None:
    for choice in _CHOICES:
        if choice in schema:
            return f"{choice} at the top level"
    odd = [name for name in schema.get("properties", {}) if not _PROPERTY.fullmatch(name)]
    return f"the parameter name {odd[0]!r}" if odd else None


def _flaws(node: Any) -> Iterator[str]:
    """Yield why a schema is not one of draft 2020-12, which the API checks."""
    if isinstance(node, bool):
        return
    if not isinstance(node, dict):
        yield f"a {type(node).__name__} where a schema is expected"
        return
    types = node.get("type", [])
    if not _TYPES.issuperset([types] if isinstance(types, str) else types):
        yield f"the type {types!r}"
    if not isinstance(node.get("required", []), list):
        yield "'required' that is no list"
    for name in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(node.get(name), bool):
            yield f"{name!r} that is no number"
    for inner in _inner(node):
        yield from _flaws(inner)


def _inner(node: Schema) -> Iterator[Any]:
    for keyword in ("properties", "$defs", "definitions", "patternProperties"):
        yield from node.get(keyword, {}).values()
    for keyword in (*_CHOICES, "prefixItems"):
        yield from node.get(keyword, ())
    for keyword in ("items", "additionalProperties", "not"):
        if keyword in node:
            yield node[keyword]


class _Unsayable(Exception):
    """The schema says something that structured outputs cannot."""


def _is_recursive(node: Any, definitions: Schema, path: tuple[str, ...]) -> bool:
    if not isinstance(node, dict):
        return False
    if "$ref" in node:
        name = str(node["$ref"]).rsplit("/", 1)[-1]
        if name in path:
            return True
        return _is_recursive(definitions.get(name), definitions, (*path, name))
    below = {key: value for key, value in node.items() if key != "$defs"}
    return any(_is_recursive(inner, definitions, path) for inner in _inner(below))


def _closed(node: Any) -> Schema:
    """Return a copy in which every object is closed; limits become part of the description."""
    if not isinstance(node, dict) or _UNSAYABLE.intersection(node):
        raise _Unsayable
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if isinstance(node.get("type"), list):
        return {"anyOf": [_closed({**node, "type": kind}) for kind in node["type"]]}
    closed = {key: node[key] for key in _KEPT if key in node}
    if "$defs" in node:
        closed["$defs"] = {name: _closed(inner) for name, inner in node["$defs"].items()}
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        closed["anyOf"] = [_closed(option) for option in options]
    elif node.get("type") == "object":
        closed |= _closed_object(node)
    elif node.get("type") == "array":
        closed["items"] = _closed(node.get("items"))
    elif not {"type", "enum", "const"}.intersection(node):
        raise _Unsayable
    return closed | _limits(node)


def _closed_object(node: Schema) -> Schema:
    more = node.get("additionalProperties", False)
    properties = node.get("properties", {})
    if isinstance(more, dict) or (more and not properties):
        raise _Unsayable
    closed = {name: _closed(inner) for name, inner in properties.items()}
    required = node.get("required", [])
    return {"properties": closed, "required": required, "additionalProperties": False}


def _limits(node: Schema) -> Schema:
    """Return the keywords that are enforced, and a description that names the others."""
    limits: Schema = {}
    told = []
    for key, value in node.items():
        if (key == "format" and value in _FORMATS) or (key == "minItems" and value in (0, 1)):
            limits[key] = value
        elif key not in (*_KEPT, *_SILENT, *_STRUCTURE):
            told.append(f"{key}: {encode_json(value)}")
    if told:
        words = [node.get("description", ""), f"({', '.join(told)})"]
        limits["description"] = " ".join(filter(None, words))
    return limits
