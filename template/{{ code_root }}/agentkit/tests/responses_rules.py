"""What the Responses API refuses in a request, apart from its input."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2

from .chat_replies import Json
from .chat_rules import parse
from .message_rules import Refused, check_fields, check_name
from .schema_rules import object_problem, strict_problem

PLAIN = re.compile(r"gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat")  # models that do not reason
INCLUDE = "reasoning.encrypted_content"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_TOOL_FIELDS = {"type", "name", "description", "parameters", "strict"}
_ROOT = ("oneOf", "anyOf", "allOf", "enum", "not")


def read_body(request: httpx2.Request, needs_key: bool) -> dict[str, Any]:
    """Return the parsed body. Raises `Refused` for what is wrong with it as HTTP or as JSON."""
    if request.method != "POST" or not request.url.path.endswith("/responses"):
        raise Refused(f"Invalid URL ({request.method} {request.url.path})", status=404)
    authorization = request.headers.get("authorization", "")
    if needs_key and not re.fullmatch(r"Bearer [!-~]+", authorization):
        raise Refused("You didn't provide an API key", code="invalid_api_key", status=401)
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise Refused("Unsupported content type, expected application/json")
    return parse(request.content)


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and low <= value <= high


def _bool(value: Any) -> bool:
    return isinstance(value, bool)


_VALUES: dict[str, Callable[[Any], bool]] = {
    "model": lambda value: isinstance(value, str) and bool(value),
    "input": lambda value: isinstance(value, list) and bool(value),
    "include": lambda value: isinstance(value, list) and set(value) <= {INCLUDE},
    "store": lambda value: value is False,  # the adapter's promise, not the API's rule
    "stream": _bool,
    "parallel_tool_calls": _bool,
    "tools": lambda value: isinstance(value, list),
    "text": lambda value: isinstance(value, dict),
    "reasoning": lambda value: isinstance(value, dict),
    "max_output_tokens": lambda value: type(value) is int and value >= 16,
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
}


def check_parameters(body: Json) -> None:
    """Raise `Refused` if the API would not accept these parameters."""
    for name, value in body.items():
        if name not in _VALUES:
            raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
        if not _VALUES[name](value):
            raise Refused(f"Invalid value for '{name}': {value!r}", name, "invalid_value")
    for name in ("model", "input", "store"):
        if name not in body:
            raise Refused(f"Missing required parameter: '{name}'.", name)
    _check_model(body)
    for index, tool in enumerate(body.get("tools", ())):
        _check_tool(tool, f"tools[{index}]")
    if "text" in body:
        _check_format(body["text"])


def _check_model(body: Json) -> None:
    """Refuse what a model that reasons, or one that does not, has no use for."""
    plain = PLAIN.match(body["model"]) is not None
    if plain and "include" in body:
        raise Refused("Encrypted content is not supported with this model.", "include")
    for name in ("reasoning",) if plain else ("temperature", "top_p"):
        if name in body:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            raise Refused(message, name)
    if "reasoning" in body:
        check_fields(body["reasoning"], "reasoning", {"effort", "summary"})
        if body["reasoning"].get("effort") not in _EFFORTS:
            raise Refused("Invalid value for 'reasoning.effort'", "reasoning.effort")


def _check_tool(tool: Any, where: str) -> None:
    check_fields(tool, where, _TOOL_FIELDS)
    if tool.get("type") != "function":
        raise Refused(f"Invalid value: '{where}.type'", f"{where}.type", "invalid_value")
    check_name(tool.get("name"), f"{where}.name")
    schema = tool.get("parameters")
    problem = object_problem(schema) or _tool_problem(schema)
    if not problem and tool.get("strict", True):  # what is not said is strict here
        problem = strict_problem(schema)
    if problem:
        message = f"Invalid schema for function '{tool['name']}': {problem}"
        raise Refused(message, f"{where}.parameters", "invalid_function_parameters")


def _tool_problem(schema: Json) -> str | None:
    for key in _ROOT:
        if key in schema:
            return f"schema must have type 'object' and not have '{key}' at the top level"
    return _array_problem(schema, ())


def _array_problem(node: Any, context: tuple[str, ...]) -> str | None:
    if not isinstance(node, dict):
        return None
    kind = node.get("type")
    if "items" not in node and (kind == "array" or (isinstance(kind, list) and "array" in kind)):
        return f"In context={context}, array schema missing items"
    inner = {**node.get("properties", {}), **node.get("$defs", {}), "items": node.get("items")}
    inner |= {str(index): option for index, option in enumerate(node.get("anyOf", ()))}
    problems = (_array_problem(value, (*context, name)) for name, value in inner.items())
    return next((problem for problem in problems if problem), None)


def _check_format(text: Json) -> None:
    check_fields(text, "text", {"format", "verbosity"})
    wanted = text.get("format", {"type": "text"})
    if wanted.get("type") != "json_schema":
        raise Refused("Invalid value: 'text.format.type'", "text.format.type", "invalid_value")
    check_fields(wanted, "text.format", {"type", "name", "description", "schema", "strict"})
    check_name(wanted.get("name"), "text.format.name")
    problem = object_problem(wanted.get("schema"))
    if not problem and wanted.get("strict"):
        problem = strict_problem(wanted["schema"])
    if problem:
        message = f"Invalid schema for response_format '{wanted['name']}': {problem}"
        raise Refused(message, "text.format.schema", "invalid_json_schema")
