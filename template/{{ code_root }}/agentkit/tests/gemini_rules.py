"""What the Gemini API refuses in a request, apart from the order of its contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

from .chat_replies import Json
from .chat_rules import parse
from .message_rules import Refused

OLD = re.compile(r"gemini-[12]|gemma")  # no tools with a schema, no levels of thinking
_PATH = re.compile(r".*/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
_KEYWORDS = {
    *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum"),
    *("items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf"),
    *("properties", "additionalProperties", "required", "propertyOrdering"),
}


def refused(message: str, code: int = 400) -> Refused:
    """Return a refusal in the API's own shape."""
    refusal = Refused(message, status=code)
    refusal.body = google_error(code, message)
    return refusal


def google_error(code: int, message: str, *details: Json, status: str = "") -> Json:
    """Return an error in the API's shape; `details` are objects with an `@type`."""
    error: dict[str, Any] = {"code": code, "message": message}
    error["status"] = status or _STATUS.get(code, "UNKNOWN")
    return {"error": {**error, "details": list(details)} if details else error}


def read_body(request: httpx2.Request, needs_key: bool) -> dict[str, Any]:
    """Return the body with what the address says: `model`, and `stream` if it is to be one."""
    found = _PATH.fullmatch(request.url.path)
    if request.method != "POST" or not found:
        raise refused(f"No {request.method} {request.url.path}", 404)
    if found[2] == "streamGenerateContent" and request.url.query != b"alt=sse":
        raise refused("Expected alt=sse")
    if needs_key and not request.headers.get("x-goog-api-key"):
        raise refused("Method doesn't allow unregistered callers", 401)
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise refused("Unsupported content type, expected application/json")
    streaming = {"stream": True} if found[2] == "streamGenerateContent" else {}
    return {"model": found[1], **streaming, **parse(request.content)}


def check_fields(value: Any, where: str, known: set[str]) -> None:
    """Refuse what is no object, or has fields that the API does not know."""
    if not isinstance(value, dict):
        raise refused(f"Invalid value at '{where}': expected an object")
    for name in sorted(value.keys() - known):
        message = f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}'"
        raise refused(f"{message}: Cannot find field.")


def check_name(name: Any, where: str) -> None:
    """Refuse names that no function can have."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refused(f"Invalid function name at '{where}': {name!r}")


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and low <= value <= high


def _int(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _texts(value: Any) -> bool:
    return (
        isinstance(value, list) and 0 < len(value) <= 5 and all(isinstance(v, str) for v in value)
    )


_CONFIG: dict[str, Callable[[Any], bool]] = {
    "temperature": _number(0, 2),
    "topP": _number(0, 1),
    "topK": _int(1, 1000),
    "maxOutputTokens": _int(1, 2**31),
    "seed": _int(-(2**31), 2**31 - 1),
    "stopSequences": _texts,
    "responseMimeType": lambda value: value in ("text/plain", "application/json"),
    "responseJsonSchema": lambda value: isinstance(value, dict),
    "thinkingConfig": lambda value: isinstance(value, dict),
}


def check_parameters(body: Json) -> None:
    """Raise `Refused` if the API would not accept what stands beside the contents."""
    known = {"contents", "systemInstruction", "generationConfig", "tools", "toolConfig"}
    check_fields(body, "request", known | {"continuationToken", "model", "stream"})
    config = body.get("generationConfig", {})
    check_fields(config, "generation_config", set(_CONFIG))
    for name, value in config.items():
        if not _CONFIG[name](value):
            raise refused(f"Invalid value at 'generation_config.{name}': {value!r}")
    old = OLD.match(body["model"]) is not None
    _check_thinking(config.get("thinkingConfig", {}), old)
    if "tools" in body:
        _check_tools(body["tools"])
    if "responseJsonSchema" in config:
        if config.get("responseMimeType") != "application/json":
            raise refused("response_json_schema needs the response mime type application/json")
        if old and "tools" in body:
            raise refused("Function calling with a response mime type: 'application/json'")
        check_schema(config["responseJsonSchema"], "generation_config.response_json_schema")
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "AUTO")
    if mode not in ("AUTO", "ANY", "NONE") or (mode == "ANY" and "tools" not in body):
        raise refused("Invalid function calling config")


def _check_thinking(thinking: Json, old: bool) -> None:
    check_fields(
        thinking, "thinking_config", {"thinkingBudget", "thinkingLevel", "includeThoughts"}
    )
    if "thinkingLevel" in thinking and (old or thinking["thinkingLevel"] not in _LEVELS):
        raise refused("Thinking level is not supported for this model.")
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise refused("You can only set one of thinking budget and thinking level.")
    if thinking.get("includeThoughts") and thinking.get("thinkingBudget") == 0:
        raise refused("Unable to include thoughts when thinking is disabled.")


def _check_tools(tools: Any) -> None:
    if not isinstance(tools, list) or len(tools) != 1:
        raise refused("Expected one tool with all functions")
    check_fields(tools[0], "tools[0]", {"functionDeclarations"})
    declared = tools[0].get("functionDeclarations") or []
    names = [function.get("name") for function in declared]
    if not names or len(set(names)) < len(names):
        raise refused(f"Duplicate or no function declarations: {names}")
    for index, function in enumerate(declared):
        where = f"tools[0].function_declarations[{index}]"
        check_fields(function, where, {"name", "description", "parametersJsonSchema"})
        check_name(function["name"], f"{where}.name")
        if "parametersJsonSchema" in function:
            check_schema(function["parametersJsonSchema"], f"{where}.parameters_json_schema")


def check_schema(schema: Any, where: str) -> None:
    """Refuse a schema that is not an object's, or not in the API's words."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise refused(f"{where}: schema must be of type object")
    if not schema.get("properties") and not schema.get("additionalProperties"):
        raise refused(f"{where}.properties: should be non-empty for OBJECT type")
    for name, node in {"": schema, **schema.get("$defs", {})}.items():
        problem = next(_problems(node, schema.get("$defs", {}), name), None)
        if problem:
            raise refused(f"{where}: {problem}")


def _problems(node: Any, definitions: Json, owner: str) -> Iterator[str]:
    if isinstance(node, bool):
        return
    for keyword in sorted(node.keys() - _KEYWORDS):
        yield f"unknown keyword {keyword}"
    if "$ref" in node:
        if node.keys() != {"$ref"} or node["$ref"].removeprefix("#/$defs/") not in definitions:
            yield f"reference {node}"
        return
    values = node.get("enum", [])
    if any(type(value) not in (str, int, float) for value in values):
        yield f"enum {values}"
    for name in node.get("required", ()):
        if owner and _leads_to(node["properties"][name], owner, definitions, set()):
            yield f"recursion in the required property {name}"
    inner = [*node.get("properties", {}).values(), *node.get("prefixItems", ())]
    inner += [*node.get("anyOf", ()), *node.get("oneOf", ())]
    inner += [node[key] for key in ("items", "additionalProperties") if key in node]
    for child in inner:
        yield from _problems(child, definitions, owner)


def _leads_to(node: Any, owner: str, definitions: Json, seen: set[str]) -> bool:
    if isinstance(node, list):
        return any(_leads_to(child, owner, definitions, seen) for child in node)
    if not isinstance(node, dict):
        return False
    name = str(node.get("$ref", "")).removeprefix("#/$defs/")
    if name and name not in seen:
        seen.add(name)
        return name == owner or _leads_to(definitions[name], owner, definitions, seen)
    return any(_leads_to(child, owner, definitions, seen) for child in node.values())
