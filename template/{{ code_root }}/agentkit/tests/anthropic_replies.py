"""How an answer looks on the wire of the Messages API, whole or as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .chat_replies import Answer, Json

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_EMPTY = {"text": "", "thinking": "", "signature": "", "input": {}}
_PIECES = {  # the delta of each field that is streamed, and the name of its piece
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "signature": ("signature_delta", "signature"),
    "input": ("input_json_delta", "partial_json"),
}


def thought(answer: Answer, text: str = "", *, redacted: bool = False) -> Answer:
    """Return an answer that was thought over first; `text` is what is shown of it."""
    return replace(answer, extra={**answer.extra, "reasoning": text, "redacted": redacted})


def content_of(*blocks: Json, stop: str = "stop") -> Answer:
    """Return an answer of exactly these blocks; thinking is signed, and calls get what they lack.

    A call's `input` may be a text, to be streamed as it is.
    """
    return Answer(finish_reason=stop, extra={"content": blocks})


def message_of(answer: Answer, request: Json, number: int) -> dict[str, Any]:
    """Return the message object that an answer is."""
    refusal = answer.extra.get("refusal")
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [_signed(b, number, i) for i, b in enumerate(_content(answer))],
        "stop_reason": "refusal"
        if refusal
        else _STOPS.get(answer.finish_reason, answer.finish_reason),
        "stop_sequence": None,
        "stop_details": None,
    }
    if refusal:
        message["stop_details"] = {"type": "refusal", "category": "bio", "explanation": refusal}
    if answer.usage is not None:
        message["usage"] = _usage(answer.usage)
    return message


def beginning_of(message: Json) -> bytes:
    """Return a stream's events up to the last piece of what the model says."""
    usage = message.get("usage")
    begun = {**message, "content": [], "stop_reason": None, "stop_details": None}
    if usage:
        begun["usage"] = {**usage, "output_tokens": 1, "output_tokens_details": None}
    events: list[Json] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        events += _block_events(block, index)
    return _sse(events)


def ending_of(message: Json) -> bytes:
    """Return the events that end a stream: why it ends, all counts, and the stop."""
    delta = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    event: dict[str, Any] = {"type": "message_delta", "delta": delta}
    if message.get("usage"):
        event["usage"] = {**message["usage"], "input_tokens": None}
    return _sse([event, {"type": "message_stop"}])


def _content(answer: Answer) -> Iterator[Json]:
    if "content" in answer.extra:
        yield from answer.extra["content"]
        return
    if answer.extra.get("redacted"):
        yield {"type": "redacted_thinking"}
    elif "reasoning" in answer.extra:
        yield {"type": "thinking", "thinking": answer.extra["reasoning"]}
    if answer.text:
        yield {"type": "text", "text": answer.text, "citations": None}
    for given, name, arguments in answer.calls:
        call = {"type": "tool_use", "name": name, "input": arguments}
        yield {**call, "id": given} if given else call


def _signed(block: Json, number: int, index: int) -> Json:
    """Return a block with what the API adds: signatures, ids, and arguments as an object."""
    opaque = f"EqQBCkYI{number}/{index}+thought=="
    match block["type"]:
        case "thinking":
            return {"signature": opaque, **block}
        case "redacted_thinking":
            return {"data": opaque, **block}
        case "tool_use":
            call_id = {"id": f"toolu_{number}_{index}", "caller": {"type": "direct"}}
            return {**call_id, **block, "input": _object(block.get("input", {}))}
    return block


def _object(given: Any) -> Any:
    """Return arguments as the object they are, as text where they are none."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given or "{}")
    except ValueError:
        return given


def _usage(usage: Json) -> Json:
    """Return counts in this API's meaning: its input leaves out what came from a cache."""
    if "input_tokens" in usage:
        return usage
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    thinking = usage["completion_tokens_details"]["reasoning_tokens"]
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"thinking_tokens": thinking},
    }


def _block_events(block: Json, index: int) -> Iterator[Json]:
    streamed = [name for name in _PIECES if name in block]
    begun = {**block, **{name: _EMPTY[name] for name in streamed}}
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for name in streamed:
        kind, key = _PIECES[name]
        for piece in _pieces(block[name]):
            delta = {"type": kind, key: piece}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _pieces(value: Any) -> Sequence[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if value == {}:  # a call without arguments
        return [""]
    size = -(-len(text) // 3) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


def _sse(events: Sequence[Json]) -> bytes:
    lines = (f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
    return "".join(lines).encode()
