"""What happens in a turn, as the JSON that clients get."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ..llm.events import (
    ApprovalNeeded,
    Event,
    Finished,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from ..llm.result import GenerateResult
from ..messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ..observability.redact import mask, split_known

Data = dict[str, Any]


async def masked(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """Yield the events, their text so that no known secret comes through in pieces.

    The end of a piece that may be the beginning of one waits for what comes next.
    """
    kind: type[TextDelta] | type[ThinkingDelta] = TextDelta
    held = ""
    async with aclosing(events):
        async for event in events:
            if held and type(event) is not kind:
                yield kind(held)
                held = ""
            if isinstance(event, (TextDelta, ThinkingDelta)):
                kind = type(event)
                text, held = split_known(held + event.text)
                if not text:
                    continue
                event = kind(text)
            yield event


def event_data(event: Event, session_id: str, run_id: str) -> Data | None:
    """Return an event as data with a `type`, None for one that clients have no use for."""
    match event:
        case TextDelta():
            return {"type": "text", "text": event.text}
        case ThinkingDelta():
            return {"type": "thinking", "text": event.text}
        case ToolStarted():
            return {"type": "tool_started", **call_data(event.call)}
        case ToolProgress():
            progress = {"done": event.done, "total": event.total, "message": event.message}
            return {"type": "tool_progress", "id": event.call.id, **progress}
        case ToolFinished():
            return {"type": "tool_finished", **_finished(event)}
        case ApprovalNeeded():
            return {"type": "approval_needed", **call_data(event.call)}
        case Retrying():
            again = {"attempt": event.attempt, "reason": mask(event.reason), "delay": event.delay}
            return {"type": "retrying", **again}
        case Finished():
            return {"type": "final", **reply_data(event.result, session_id, run_id)}
    return None


def reply_data(result: GenerateResult, session_id: str, run_id: str) -> Data:
    """Return what a turn came to."""
    return {
        "session_id": session_id,
        "run_id": run_id,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "model": result.model,
        "usage": result.usage._asdict(),
        "cost_usd": result.estimated_cost,
        "tool_calls": [call_data(call) for call in result.tool_calls],
    }


def message_data(message: Message) -> Data:
    """Return a message of a conversation."""
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def call_data(call: ToolCall) -> Data:
    """Return a call of a tool; arguments that were no JSON object are left out."""
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _finished(event: ToolFinished) -> Data:
    result = event.result
    named = {"id": event.call.id, "name": event.call.name, "text": result.text}
    return named | {"is_error": result.is_error, "seconds": round(event.seconds, 3)}


def _part(part: Part) -> Data:
    match part:
        case Text() | Thinking():
            return {"type": part.type, "text": part.text}
        case Image():
            return {"type": "image", "media_type": part.media_type, "bytes": _size(part)}
        case ToolCall():
            return {"type": "tool_call", **call_data(part)}
        case ToolResult():
            named = {"type": "tool_result", "call_id": part.call_id, "name": part.name}
            return named | {"text": part.text, "is_error": part.is_error}


def _size(image: Image) -> int:
    return len(image.data) * 3 // 4
