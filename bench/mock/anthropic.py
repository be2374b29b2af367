"""Anthropic Messages."""

from collections.abc import Iterator
from typing import Any

from .answer import Answer, Json, encode

EVENTS_BEFORE_TEXT = 2


def tool_results(request: Json) -> int:
    """Count the tool results since the last message of the user."""
    count = 0
    for message in reversed(request.get("messages") or []):
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        results = sum(part.get("type") == "tool_result" for part in parts)
        if message.get("role") == "user" and not results:
            break
        count += results
    return count


def tools(request: Json) -> dict[str, Json]:
    """Return the schema of each tool's input by name."""
    listed = request.get("tools") or []
    return {tool.get("name", ""): tool.get("input_schema") or {} for tool in listed}


def schema(request: Json) -> Json | None:
    """Return the schema that the answer must have."""
    wanted = request.get("output_format") or (request.get("output_config") or {}).get("format")
    return (wanted or {}).get("schema")


def _message(answer: Answer, content: list[Json], stop: str | None) -> Json:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _stop(answer: Answer) -> str:
    return "tool_use" if answer.tool else "end_turn"


def _use(answer: Answer, arguments: Any) -> Json:
    name = f"toolu_{answer.number}"
    return {"type": "tool_use", "id": name, "name": answer.tool, "input": arguments}


def body(answer: Answer) -> bytes:
    """Return a whole reply."""
    text = {"type": "text", "text": answer.text}
    block = _use(answer, answer.arguments) if answer.tool else text
    return encode(_message(answer, [block], _stop(answer)))


def events(answer: Answer, request: Json) -> Iterator[bytes]:
    """Yield a streamed reply."""
    for kind, fields in _sequence(answer):
        data = encode({"type": kind, **fields})
        yield b"event: %s\ndata: %s\n\n" % (kind.encode(), data)


def _sequence(answer: Answer) -> Iterator[tuple[str, Json]]:
    block = _use(answer, {}) if answer.tool else {"type": "text", "text": ""}
    yield "message_start", {"message": _message(answer, [], None)}
    yield "content_block_start", {"index": 0, "content_block": block}
    for delta in _deltas(answer):
        yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    delta = {"stop_reason": _stop(answer), "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": answer.output_tokens}}
    yield "message_stop", {}


def _deltas(answer: Answer) -> list[Json]:
    if answer.tool:
        pieces = answer.argument_pieces()
        return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [{"type": "text_delta", "text": chunk} for chunk in answer.chunks]


def error(status: int) -> bytes:
    """Return an error's body."""
    fields = {"type": "mock_error", "message": f"mock fault {status}"}
    return encode({"type": "error", "error": fields})
