"""What the Responses API is sent: pure functions from messages, tools and schemas to JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from ...messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ...texts import decode_json, encode_json
from ...tools.tool import Tool
from ..schema import OutputSchema

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_HOLDS_SCHEMAS = ("properties", "$defs", "definitions")  # by name
_HOLDS_OPTIONS = ("anyOf", "oneOf", "allOf", "prefixItems")


def wire_message(message: Message, dialect: str) -> str:
    """Return a message as input items in JSON, joined by commas; "" for nothing to say.

    Reasoning of another dialect is left out: only the model that made it can read it.
    """
    match message.role:
        case "assistant":
            items = _assistant(message.parts, dialect)
        case "tool":
            items = [_output(result) for result in message.tool_results]
        case role:
            items = [{"role": role, "content": _content(message.parts)}]
    return ",".join(map(encode_json, items))


def _assistant(parts: Sequence[Part], dialect: str) -> list[dict[str, Any]]:
    """Return what the model said, in its order.

    Calls and texts go without the ids of their items: with one, the API insists on the reasoning
    that came before it, which is gone after a change of the model.
    """
    items: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Thinking):
            reasoning = (part.replay or {}).get(dialect)
            items += [reasoning] if reasoning else []
        elif isinstance(part, Text) and part.text.strip():
            phase = (part.replay or {}).get(dialect, {})
            items.append({"role": "assistant", "content": part.text, **phase})
        elif isinstance(part, ToolCall):
            items.append(_call(part))
    while items and items[-1].get("type") == "reasoning":  # refused without what it led to
        items.pop()
    return items


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": _id(call.id),
        "name": re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown",
        "arguments": call.arguments_text,
    }


def _id(call_id: str) -> str:
    """Return an id that is accepted, the same one for a call and its result."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()


def _output(result: ToolResult) -> dict[str, Any]:
    parts = (Text("Error:"), *result.content) if result.is_error else result.content
    images = any(isinstance(part, Image) for part in parts)
    text = f"Error: {result.text}" if result.is_error else result.text
    output = _content(parts) if images else text
    return {"type": "function_call_output", "call_id": _id(result.call_id), "output": output}


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Image):
            url = f"data:{part.media_type};base64,{part.data}"
            content.append({"type": "input_image", "image_url": url, "detail": "auto"})
        elif isinstance(part, Text):
            content.append({"type": "input_text", "text": part.text})
    return content


def wire_tools(tools: Sequence[Tool], warn: Callable[[str], None]) -> str:
    """Return the tools as a JSON array, or "" for none; `warn` is told of each left out."""
    kept = []
    for tool in tools:
        try:
            kept.append(encode_json(_function(tool)))
        except (TypeError, ValueError, RecursionError) as error:
            warn(f"openai: the tool {tool.name} is left out: {error}")
    return f"[{','.join(kept)}]" if kept else ""


def _function(tool: Tool) -> dict[str, Any]:
    schema = decode_json(encode_json(tool.parameters))
    forbidden = next((key for key in _NOT_AT_THE_TOP if key in schema), None)
    if forbidden:
        raise ValueError(f"its parameters have {forbidden!r} at the top, which OpenAI refuses")
    function = {"type": "function", "name": tool.name, "parameters": schema}
    if tool.description:
        function["description"] = tool.description
    _add_items(schema)
    return {**function, "strict": False}  # else every argument is taken for a required one


def _add_items(schema: Any) -> None:
    """Say that an array holds anything where a schema says nothing: OpenAI wants to be told."""
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        schema.setdefault("items", {})
    inner = [schema.get("items"), schema.get("additionalProperties")]
    for key in _HOLDS_SCHEMAS:
        inner += schema[key].values() if isinstance(schema.get(key), dict) else ()
    for key in _HOLDS_OPTIONS:
        inner += schema[key] if isinstance(schema.get(key), list) else ()
    for node in inner:
        _add_items(node)


def wire_format(schema: OutputSchema) -> str:
    """Return the `text` parameter that asks for an answer of this type, strict where possible."""
    wire = {"type": "json_schema", "name": schema.name, "schema": schema.strict or schema.schema}
    return encode_json({"format": {**wire, "strict": schema.strict is not None}})
