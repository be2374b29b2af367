"""OpenAI Responses."""

from collections.abc import Iterator
from typing import Any

from .answer import Answer, Json, encode
from .chat import CREATED, error

EVENTS_BEFORE_TEXT = 4
__all__ = ["EVENTS_BEFORE_TEXT", "body", "error", "events", "schema", "tool_results", "tools"]


def tool_results(request: Json) -> int:
    """Count the tool results since the last message of the user."""
    items = request.get("input") or []
    count = 0
    for item in reversed(items if isinstance(items, list) else []):
        if item.get("role") == "user":
            break
        count += item.get("type") == "function_call_output"
    return count


def tools(request: Json) -> dict[str, Json]:
    """Return the schema of each tool's input by name."""
    listed = request.get("tools") or []
    return {tool.get("name", ""): tool.get("parameters") or {} for tool in listed}


def schema(request: Json) -> Json | None:
    """Return the schema that the answer must have."""
    return ((request.get("text") or {}).get("format") or {}).get("schema")


def _response(answer: Answer, output: list[Json], status: str = "completed") -> Json:
    done = status == "completed"
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "metadata": {},
        "usage": _usage(answer) if done else None,
    }


def _usage(answer: Answer) -> Json:
    return {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def _item(answer: Answer) -> Json:
    if answer.tool:
        ids = {"id": f"fc_{answer.number}", "call_id": f"call_{answer.number}"}
        call = {"name": answer.tool, "arguments": answer.arguments_json}
        return {"type": "function_call", **ids, **call, "status": "completed"}
    part: Json = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": f"msg_{answer.number}",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def body(answer: Answer) -> bytes:
    """Return a whole reply."""
    return encode(_response(answer, [_item(answer)]))


def events(answer: Answer, request: Json) -> Iterator[bytes]:
    """Yield a streamed reply."""
    for number, (kind, fields) in enumerate(_sequence(answer)):
        data = encode({"type": kind, "sequence_number": number, **fields})
        yield b"event: %s\ndata: %s\n\n" % (kind.encode(), data)


def _sequence(answer: Answer) -> Iterator[tuple[str, Json]]:
    item = _item(answer)
    yield "response.created", {"response": _response(answer, [], "in_progress")}
    yield "response.in_progress", {"response": _response(answer, [], "in_progress")}
    yield from _call_sequence(answer, item) if answer.tool else _text_sequence(answer, item)
    yield "response.output_item.done", {"output_index": 0, "item": item}
    yield "response.completed", {"response": _response(answer, [item])}


def _call_sequence(answer: Answer, item: Json) -> Iterator[tuple[str, Json]]:
    kind = "response.function_call_arguments"
    place: dict[str, Any] = {"item_id": item["id"], "output_index": 0}
    started = item | {"arguments": "", "status": "in_progress"}
    yield "response.output_item.added", {"output_index": 0, "item": started}
    for piece in answer.argument_pieces():
        yield f"{kind}.delta", place | {"delta": piece}
    yield f"{kind}.done", place | {"name": answer.tool, "arguments": answer.arguments_json}


def _text_sequence(answer: Answer, item: Json) -> Iterator[tuple[str, Json]]:
    place: dict[str, Any] = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    part: Json = item["content"][0]
    started = item | {"content": [], "status": "in_progress"}
    yield "response.output_item.added", {"output_index": 0, "item": started}
    yield "response.content_part.added", place | {"part": part | {"text": ""}}
    for chunk in answer.chunks:
        yield "response.output_text.delta", place | {"delta": chunk, "logprobs": []}
    yield "response.output_text.done", place | {"text": answer.text, "logprobs": []}
    yield "response.content_part.done", place | {"part": part}
