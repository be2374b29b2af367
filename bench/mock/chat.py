"""Chat Completions."""

from collections.abc import Iterator
from typing import Any

from .answer import Answer, Json, encode

EVENTS_BEFORE_TEXT = 1
CREATED = 1_700_000_000
TEXT_RESULTS = ("Observation:", "Call id:")  # a framework that sends results as text of the user


def tool_results(request: Json) -> int:
    """Count the tool results since the last message of the user."""
    count = 0
    for message in reversed(request.get("messages") or []):
        role = message.get("role")
        if role == "user" and not _text(message.get("content")).startswith(TEXT_RESULTS):
            break
        count += role in ("tool", "tool-response", "user")
    return count


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def tools(request: Json) -> dict[str, Json]:
    """Return the schema of each tool's input by name."""
    functions = [tool.get("function", {}) for tool in request.get("tools") or []]
    return {function.get("name", ""): function.get("parameters") or {} for function in functions}


def schema(request: Json) -> Json | None:
    """Return the schema that the answer must have."""
    wanted = request.get("response_format") or {}
    return (wanted.get("json_schema") or {}).get("schema")


def usage(answer: Answer) -> Json:
    """Return the tokens, with all the details that the real API gives."""
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _call(answer: Answer, arguments: str) -> Json:
    function = {"name": answer.tool, "arguments": arguments}
    return {"id": f"call_{answer.number}", "type": "function", "function": function}


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.tool else "stop"


def body(answer: Answer) -> bytes:
    """Return a whole reply."""
    message: Json = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.tool:
        message["tool_calls"] = [_call(answer, answer.arguments_json)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    head = _head(answer, "chat.completion")
    return encode(head | {"choices": [choice], "usage": usage(answer)})


def _head(answer: Answer, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{answer.number}",
        "object": kind,
        "created": CREATED,
        "model": answer.model,
        "service_tier": "default",
        "system_fingerprint": "fp_mock",
    }


def events(answer: Answer, request: Json) -> Iterator[bytes]:
    """Yield a streamed reply."""
    head = _head(answer, "chat.completion.chunk")

    def event(choices: list[Json], **more: Any) -> bytes:
        return b"data: " + encode(head | {"choices": choices} | more) + b"\n\n"

    def delta(content: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": content, "logprobs": None, "finish_reason": finish}
        return event([choice])

    yield delta({"role": "assistant", "content": ""})
    if answer.tool:
        yield delta({"tool_calls": [{"index": 0, **_call(answer, "")}]})
        for piece in answer.argument_pieces():
            yield delta({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    for chunk in answer.chunks:
        yield delta({"content": chunk})
    yield delta({}, _finish(answer))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield event([], usage=usage(answer))
    yield b"data: [DONE]\n\n"


def error(status: int) -> bytes:
    """Return an error's body."""
    fields = {"message": f"mock fault {status}", "type": "mock_error", "param": None}
    return encode({"error": fields | {"code": f"mock_{status}"}})
