"""Messages as Chat Completions wants them: pure functions from values to JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from ...messages import Image, Message, Part, Text, Thinking, ToolResult
from ...texts import clean, encode_json
from ...tools.tool import Tool
from ..schema import OutputSchema

# Stands where a server wants the assistant to speak between tool results and the user.
BETWEEN = {"role": "assistant", "content": "(The results are above.)"}


def wire_message(message: Message, dialect: str, user_after_tool: bool = True) -> str:
    """Return one message as JSON: several objects joined by commas, or "" for nothing to say."""
    match message.role:
        case "assistant":
            return clean(_assistant(message, dialect))
        case "tool":
            return clean(",".join(map(encode_json, _tool_messages(message, user_after_tool))))
        case role:
            return encode_json({"role": role, "content": _content(message.parts)})


def _assistant(message: Message, dialect: str) -> str:
    wire: dict[str, Any] = {"role": "assistant"}
    calls = [
        {
            "id": _id(call.id),
            "type": "function",
            "function": {"name": _name(call.name), "arguments": call.arguments_text},
            **(call.replay or {}).get(dialect, {}),
        }
        for call in message.tool_calls
    ]
    text = message.text
    if not calls and not text.strip():
        return ""
    wire["content"] = text or None
    if calls:
        wire["tool_calls"] = calls
    for part in message.parts:
        if isinstance(part, Thinking) and part.replay:
            wire |= part.replay.get(dialect, {})
    return encode_json(wire)


def _id(call_id: str) -> str:
    """Return an id of at most 40 characters: OpenAI refuses longer ones, others make them."""
    if len(call_id) <= 40:
        return call_id
    return hashlib.sha256(clean(call_id).encode()).hexdigest()[:40]


def _name(name: str) -> str:
    """Return the name of a call in the letters that are accepted: models invent others."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def with_answers(messages: Sequence[Message], fragments: Sequence[str]) -> list[str]:
    """Return the fragments with an assistant turn before each user turn that follows results."""
    answered: list[str] = []
    before = ""
    for message, fragment in zip(messages, fragments, strict=True):
        if before == "tool" and message.role == "user":
            answered.append(encode_json(BETWEEN))
        answered.append(fragment)
        before = message.role
    return answered


def _tool_messages(message: Message, user_after_tool: bool) -> list[dict[str, Any]]:
    """Return one message per result; images follow in a user message, tools may not send them."""
    wire: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": _id(result.call_id), "content": _result_text(result)}
        for result in message.tool_results
    ]
    images = [p for r in message.tool_results for p in r.content if isinstance(p, Image)]
    if images:
        if not user_after_tool:
            wire.append(BETWEEN)
        note = Text("Images from the tool results above:")
        wire.append({"role": "user", "content": _content((note, *images))})
    return wire


def _result_text(result: ToolResult) -> str:
    text = result.text or "(an image, see below)"
    return f"Error: {text}" if result.is_error else text


def _content(parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Image):
            url = f"data:{part.media_type};base64,{part.data}"
            content.append({"type": "image_url", "image_url": {"url": url}})
        elif isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
    return content


def wire_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool as the API takes it; the schema in it is the tool's own."""
    function = {"name": tool.name, "parameters": tool.parameters}
    if tool.description:
        function["description"] = clean(tool.description)
    return {"type": "function", "function": function}


def response_format(schema: OutputSchema) -> dict[str, Any]:
    """Return how an answer of this type is asked for: strict where the type allows it."""
    wire: dict[str, Any] = {"name": schema.name, "schema": schema.strict or schema.schema}
    wire["strict"] = schema.strict is not None
    return {"type": "json_schema", "json_schema": wire}
