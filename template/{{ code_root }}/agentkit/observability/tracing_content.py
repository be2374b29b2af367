"""What was said, as the JSON of OpenTelemetry's GenAI conventions; secrets are masked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..messages import Message, Part, Reply, Text, Thinking, ToolCall, ToolResult
from .redact import mask, safe_sanitize, shorten


def system_instructions(messages: Sequence[Message]) -> str:
    """Return the system prompt as a list of parts."""
    parts = [part for m in messages if m.role == "system" for part in m.parts]
    return _json([_part(part) for part in parts])


def input_messages(messages: Sequence[Message]) -> str:
    """Return the conversation without the system prompt; each message is laid out once."""
    texts = [m.once("opentelemetry", _message) for m in messages if m.role != "system"]
    return f"[{','.join(texts)}]"


def output_messages(reply: Reply) -> str:
    """Return a reply as a list of one message."""
    parts = [_part(part) for part in reply.message.parts]
    return _json([{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}])


def call_arguments(call: ToolCall) -> str:
    """Return a call's arguments; what was no JSON object stays text."""
    return _json(call.malformed if call.malformed is not None else call.arguments)


def _message(message: Message) -> str:
    return _json({"role": message.role, "parts": [_part(part) for part in message.parts]})


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": _text(part.text)}
        case Thinking():
            return {"type": "reasoning", "content": _text(part.text)}
        case ToolCall():
            arguments = json.loads(call_arguments(part))
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            text = _text(part.text)
            return {"type": "tool_call_response", "id": part.call_id, "response": text}
    return {"type": "blob", "modality": "image", "mime_type": part.media_type}  # without its bytes


def _text(text: str) -> str:
    return shorten(mask(text))


def _json(value: Any) -> str:
    return json.dumps(safe_sanitize(value), ensure_ascii=False)
