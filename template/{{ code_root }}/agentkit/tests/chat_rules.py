"""What the Chat Completions API refuses. The fake refuses the same, so that no test passes with a
request that a real server would turn down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import httpx2

from .chat_replies import Json
from .message_rules import Refused, Rules, check_fields, check_messages, check_name
from .schema_rules import object_problem, strict_problem

OPENAI = Rules()


def read_body(request: httpx2.Request, rules: Rules) -> dict[str, Any]:
    """Return the parsed body. Raises `Refused` for what is wrong with it as HTTP or as JSON."""
    if request.method != "POST":
        raise Refused(f"Not allowed to {request.method} here", status=405)
    if not request.url.path.endswith("/chat/completions"):
        raise Refused(f"Invalid URL ({request.method} {request.url.path})", status=404)
    if rules.needs_key and not re.fullmatch(
        r"Bearer [!-~]+", request.headers.get("authorization", "")
    ):
        raise Refused("You didn't provide an API key", code="invalid_api_key", status=401)
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise Refused("Unsupported content type, expected application/json")
    if request.headers.get("content-length", "") != str(len(request.content)):
        raise Refused("content-length differs from the length of the body")
    return parse(request.content)


def parse(content: bytes) -> dict[str, Any]:
    """Return the object that a body is; raises `Refused` for anything else."""
    try:
        body = json.loads(content.decode("utf-8"), parse_constant=_not_json)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("The JSON body holds a lone surrogate") from error
    except ValueError as error:
        raise Refused("We could not parse the JSON body of your request") from error
    if not isinstance(body, dict):
        raise Refused("The JSON body is no object")
    return body


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def check_body(body: Json, rules: Rules) -> None:
    """Raise `Refused` if the API would not accept this request."""
    known = {*_VALUES, rules.output_limit, *rules.parameters}
    for name in body:
        if name in ("max_tokens", "max_completion_tokens") and name not in known:
            hint = f"Unsupported parameter: '{name}'. Use '{rules.output_limit}' instead"
            raise Refused(hint, name, "unsupported_parameter")
        if name not in known:
            raise Refused(f"Unknown parameter: '{name}'", name, "unknown_parameter")
    for name, fits in {**_VALUES, rules.output_limit: _count}.items():
        if name in body and not fits(body[name]):
            raise Refused(f"Invalid value for '{name}': {body[name]!r}", name, "invalid_value")
    for name in ("model", "messages"):
        if not body.get(name):
            raise Refused(f"Missing or empty '{name}'", name, "missing_required_parameter")
    if body.get("temperature", 1) != 1 and not rules.temperature:
        raise Refused(
            "Unsupported value: 'temperature' is fixed at 1", "temperature", "unsupported_value"
        )
    _check_dependencies(body)
    _check_tools(body.get("tools"))
    _check_format(body)
    check_messages(body["messages"], rules)


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _bool(value: Any) -> bool:
    return isinstance(value, bool)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _dict(value: Any) -> bool:
    return isinstance(value, dict)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and low <= value <= high


def _stop(value: Any) -> bool:
    return _text(value) or (_list(value) and 0 < len(value) <= 4 and all(map(_text, value)))


_VALUES: dict[str, Callable[[Any], bool]] = {
    "model": _text,
    "messages": _list,
    "tools": _list,
    "tool_choice": lambda value: value in ("auto", "none", "required") or _dict(value),
    "parallel_tool_calls": _bool,
    "response_format": _dict,
    "stream": _bool,
    "stream_options": lambda value: _dict(value) and value.keys() <= {"include_usage"},
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "frequency_penalty": _number(-2, 2),
    "presence_penalty": _number(-2, 2),
    "seed": lambda value: type(value) is int,
    "stop": _stop,
    "n": _count,
    "reasoning_effort": lambda v: v in ("none", "minimal", "low", "medium", "high", "xhigh"),
    "verbosity": lambda value: value in ("low", "medium", "high"),
    "logprobs": _bool,
    "top_logprobs": _number(0, 20),
    "logit_bias": _dict,
    "metadata": _dict,
    "prediction": _dict,
    "prompt_cache_key": _text,
    "safety_identifier": _text,
    "service_tier": _text,
    "store": _bool,
    "user": _text,
}


def _check_dependencies(body: Json) -> None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in body and "tools" not in body:
            raise Refused(f"'{name}' is only allowed when 'tools' are specified", name)
    if "stream_options" in body and not body.get("stream"):
        raise Refused("'stream_options' is only allowed when 'stream' is on", "stream_options")
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name")
        if name not in [tool.get("function", {}).get("name") for tool in body["tools"]]:
            raise Refused(f"Tool choice '{name}' not found in 'tools'", "tool_choice")


def _check_tools(tools: list[Any] | None) -> None:
    if tools is None:
        return
    if not tools:
        raise Refused("Invalid 'tools': empty array", "tools", "empty_array")
    for index, tool in enumerate(tools):
        _check_tool(tool, f"tools[{index}]")
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise Refused("Tool names must be unique", "tools")


def _check_tool(tool: Any, where: str) -> None:
    check_fields(tool, where, {"type", "function"})
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        raise Refused(f"Invalid '{where}': expected a function", where)
    check_fields(function, f"{where}.function", {"name", "description", "parameters", "strict"})
    check_name(function.get("name"), f"{where}.function.name")
    problem = object_problem(function.get("parameters", {"type": "object", "properties": {}}))
    if not problem and function.get("strict"):
        problem = strict_problem(function.get("parameters"))
    if problem:
        message = f"Invalid schema for function '{function['name']}': {problem}"
        raise Refused(message, f"{where}.function.parameters", "invalid_function_parameters")


def _check_format(body: Json) -> None:
    wanted = body.get("response_format", {"type": "text"})
    kind = wanted.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        raise Refused(f"Invalid value: {kind!r}", "response_format.type", "invalid_value")
    if kind == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        raise Refused("'messages' must contain the word 'json' for 'json_object'", "messages")
    if kind == "json_schema":
        _check_schema(wanted.get("json_schema"))


def _check_schema(wanted: Any) -> None:
    where = "response_format.json_schema"
    check_fields(wanted, where, {"name", "description", "schema", "strict"})
    check_name(wanted.get("name"), f"{where}.name")
    problem = object_problem(wanted.get("schema"))
    if not problem and wanted.get("strict"):
        problem = strict_problem(wanted["schema"])
    if problem:
        message = f"Invalid schema for response_format '{wanted['name']}': {problem}"
        raise Refused(message, "response_format")
