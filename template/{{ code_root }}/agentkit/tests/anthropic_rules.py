"""What the Messages API refuses in a request, apart from its messages and its schemas."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2

from .anthropic_schemas import output_problem, tool_problem
from .chat_replies import Json
from .chat_rules import parse
from .message_rules import NAME, Refused

VERSION = "2026-10-21"
LEAST_BUDGET = 1_024
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING = {"adaptive": {"type"}, "disabled": {"type"}, "enabled": {"type", "budget_tokens"}}


def refusal(message: str, status: int = 400, kind: str = "invalid_request_error") -> Refused:
    """Return a refusal in the API's own shape."""
    refused = Refused(message, status=status)
    error = {"type": kind, "message": message}
    refused.body = {"type": "error", "error": error, "request_id": "req_fake"}
    return refused


def read_body(request: httpx2.Request, needs_key: bool) -> dict[str, Any]:
    """Return the parsed body. Raises `Refused` for what is wrong with it as HTTP or as JSON."""
    headers = request.headers
    if request.method != "POST" or request.url.path != "/v1/messages":
        raise refusal(f"Not found: {request.method} {request.url.path}", 404, "not_found_error")
    if needs_key and not re.fullmatch(r"Bearer [!-~]+", headers.get("authorization", "")):
        raise refusal("Invalid bearer token", 401, "authentication_error")
    if headers.get("anthropic-version") != VERSION:
        raise refusal(f"anthropic-version: expected {VERSION}")
    if headers.get("content-type", "").split(";")[0] != "application/json":
        raise refusal("content-type: expected application/json")
    try:
        return parse(request.content)
    except Refused as refused:
        raise refusal(str(refused)) from refused


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(_text(item) and item.strip() for item in value)


def _blocks(value: Any) -> bool:
    return isinstance(value, list) and all(
        item.keys() == {"type", "text"} and item["type"] == "text" and item["text"].strip()
        for item in value
    )


_VALUES: dict[str, Callable[[Any], bool]] = {
    "model": _text,
    "max_tokens": lambda value: type(value) is int and value > 0,
    "messages": lambda value: isinstance(value, list) and bool(value),
    "system": _blocks,
    "tools": lambda value: isinstance(value, list),
    "stop_sequences": _texts,
    "stream": lambda value: isinstance(value, bool),
    "cache_control": lambda value: value == {"type": "ephemeral"},
    "thinking": lambda value: isinstance(value, dict),
    "output_config": lambda value: isinstance(value, dict),
}


def check_parameters(body: Json) -> None:
    """Raise `Refused` if the API would not accept these parameters."""
    for name, value in body.items():
        if name not in _VALUES:
            raise refusal(f"{name}: Extra inputs are not permitted")
        if not _VALUES[name](value):
            raise refusal(f"{name}: Invalid value {value!r}")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise refusal(f"{name}: Field required")
    if "thinking" in body:
        _check_thinking(body["thinking"], body["max_tokens"])
    _check_output(body.get("output_config", {}))
    for index, tool in enumerate(body.get("tools", ())):
        _check_tool(tool, f"tools.{index}.custom")
    names = [tool["name"] for tool in body.get("tools", ())]
    if len(set(names)) < len(names):
        raise refusal("tools: Tool names must be unique.")


def _check_thinking(thinking: Json, max_tokens: int) -> None:
    kind = thinking.get("type")
    if kind not in _THINKING or thinking.keys() != _THINKING[kind]:
        raise refusal(f"thinking: Invalid value {thinking!r}")
    budget = thinking.get("budget_tokens", LEAST_BUDGET)
    if type(budget) is not int or budget < LEAST_BUDGET:
        raise refusal("thinking.enabled.budget_tokens: Input should be at least 1024")
    if kind == "enabled" and budget >= max_tokens:
        raise refusal("`max_tokens` must be greater than `thinking.budget_tokens`")


def _check_output(config: Json) -> None:
    if not config.keys() <= {"effort", "format"}:
        raise refusal(f"output_config: Extra inputs are not permitted: {sorted(config)}")
    if config.get("effort", "low") not in _EFFORTS:
        raise refusal(f"output_config.effort: Input should be one of {_EFFORTS}")
    if "format" not in config:
        return
    wanted = config["format"]
    if wanted.keys() != {"type", "schema"} or wanted["type"] != "json_schema":
        raise refusal(f"output_config.format: Invalid value {wanted!r}")
    problem = output_problem(wanted["schema"])
    if problem:
        raise refusal(f"output_config.format.schema: {problem}")


def _check_tool(tool: Json, where: str) -> None:
    if not tool.keys() <= {"name", "description", "input_schema"}:
        raise refusal(f"{where}: Extra inputs are not permitted: {sorted(tool)}")
    if not NAME.fullmatch(tool.get("name", "")):
        raise refusal(f"{where}.name: String should match pattern '^{NAME.pattern}$'")
    if not _text(tool.get("description", "x")):
        raise refusal(f"{where}.description: Invalid value")
    problem = tool_problem(tool.get("input_schema"))
    if problem:
        raise refusal(f"{where}.input_schema{problem}")
