"""JSON schemas as Gemini accepts them, made as copies: of tools, and of answers.

It knows part of JSON Schema; what it does not know is left out, which only widens the schema: the
answer is checked here anyway. Source: `response_json_schema` in
https://ai.google.dev/api/generate-content#generationconfig
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...texts import clean_json
from ...tools.tool import Tool
from ..schema import OutputSchema

Schema = dict[str, Any]
Reach = dict[str, set[str]]  # which definitions each definition leads to

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_KEPT = ("type", "description", "minItems", "maxItems", "minimum", "maximum")
_FORMATS = ("date-time", "date", "time")


def wire_tools(tools: Sequence[Tool], warn: Callable[[str], None]) -> list[Schema]:
    """Return the function declarations; `warn` is told of each tool that is left out."""
    declared = []
    for tool in tools:
        try:
            declared.append(_declaration(tool))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            warn(f"the tool {tool.name} is left out, google does not take it: {error}")
    return declared


def answer_tool(schema: OutputSchema, parameters: Schema) -> Schema:
    """Return a tool that takes the answer, for models that take no schema together with tools."""
    return {
        "name": f"answer_{schema.name}"[:64],
        "description": "Call this once, with the final answer.",
        "parametersJsonSchema": parameters,
    }


def wire_schema(schema: Mapping[str, Any]) -> Schema:
    """Return a copy of an object's schema in the words that the API knows."""
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    reach = _reach(definitions)
    root = dict(schema)
    name = _target(root)
    if name in definitions:  # a reference is refused at the root
        root = {**root, **definitions[name]}
        del root["$ref"]
    wire = _node(root, "", reach)
    if definitions:
        wire["$defs"] = {name: _node(node, name, reach) for name, node in definitions.items()}
    made: Schema = clean_json(wire)
    return made


def _declaration(tool: Tool) -> Schema:
    if not _TOOL_NAME.fullmatch(tool.name):
        raise ValueError("its name must start with a letter or '_'")
    wire = {"name": tool.name}
    if tool.description:
        wire["description"] = tool.description
    declaration: Schema = clean_json(wire)
    parameters = wire_schema(tool.parameters)
    if parameters.get("properties") or parameters.get("additionalProperties"):
        declaration["parametersJsonSchema"] = parameters  # an empty one is refused
    return declaration


def _node(node: Any, owner: str, reach: Reach) -> Schema:
    """Return one schema; `owner` is the definition that it stands in."""
    if not isinstance(node, dict):  # true, false
        return {}
    if len(node.get("allOf", ())) == 1:
        node = {**node, **node["allOf"][0]}
    if "$ref" in node:
        name = _target(node)
        return {"$ref": f"#/$defs/{name}"} if name in reach else {}
    wire = {key: node[key] for key in _KEPT if key in node}
    wire |= _values(node)
    for key in ("anyOf", "oneOf", "prefixItems"):
        if key in node:
            wire[key] = [_node(inner, owner, reach) for inner in node[key]]
    for key in ("items", "additionalProperties"):
        if key in node:
            inner = node[key]
            wire[key] = inner if isinstance(inner, bool) else _node(inner, owner, reach)
    return wire | _object(node, owner, reach)


def _values(node: Schema) -> Schema:
    """Return which values are allowed; the API knows lists of texts and of numbers."""
    wire: Schema = {}
    if node.get("format") in _FORMATS:
        wire["format"] = node["format"]
    values = node.get("enum", [node["const"]] if "const" in node else [])
    for kinds, name in (((str,), "string"), ((int, float), "number")):
        if values and all(type(value) in kinds for value in values):
            wire |= {"enum": list(values), "type": node.get("type", name)}
    return wire


def _object(node: Schema, owner: str, reach: Reach) -> Schema:
    """Return the properties. None is required that leads back to where it stands.

    The API unrolls such a reference to some depth, and wants to be able to stop.
    """
    if "properties" not in node:
        return {}
    properties = node["properties"]
    required = [
        name
        for name in node.get("required", ())
        if name in properties and owner not in _leads_to(properties[name], reach)
    ]
    wire: Schema = {
        "properties": {name: _node(inner, owner, reach) for name, inner in properties.items()}
    }
    return {**wire, "required": required} if required else wire


def _target(node: Mapping[str, Any]) -> str:
    """Return the name of the definition that a node refers to, "" for none."""
    match = re.fullmatch(r"#/(?:\$defs|definitions)/([^/]+)", str(node.get("$ref", "")))
    return match[1] if match else ""


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield _target(node)
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)


def _leads_to(node: Any, reach: Reach) -> set[str]:
    direct = set(_references(node))
    return direct.union(*(reach.get(name, set()) for name in direct))


def _reach(definitions: Mapping[str, Any]) -> Reach:
    reach = {name: set(_references(node)) for name, node in definitions.items()}
    for _ in definitions:  # each round follows one more reference
        reach = {
            name: seen.union(*(reach.get(n, ()) for n in seen)) for name, seen in reach.items()
        }
    return reach
