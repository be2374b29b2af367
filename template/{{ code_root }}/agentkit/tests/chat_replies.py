"""What the fake of the Chat Completions API can be told to answer, and how it looks on the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Mapping[str, Any]
ERROR_TYPES = {401: "invalid_request_error", 429: "rate_limit_error"}


def usage(prompt: int = 100, completion: int = 20, cached: int = 0, reasoning: int = 0) -> Json:
    """Return token counts as the API reports them: prompt includes cached, completion reasoning."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }


USAGE = usage()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says. `calls` holds (id, name, arguments as text), `extra` further fields."""

    text: str | None = None
    calls: tuple[tuple[str | None, str, str], ...] = ()
    finish_reason: str = "stop"
    usage: Json | None = field(default_factory=lambda: USAGE)
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP response that is no answer: status, headers and body as they are sent."""

    code: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply that goes wrong on its way; `seconds` pass between the bytes of a dripping one."""

    kind: Literal["reset", "reset_later", "cut", "end_early", "hang", "drip", "malformed", "error"]
    answer: Answer = field(default_factory=lambda: Answer("It means everywhere at once."))
    seconds: float = 0.0
    error: Json | None = None


@dataclass(frozen=True, slots=True)
class Sse:
    """A stream's events as they are sent."""

    body: bytes


Reply = str | Answer | Status | Fault | Sse | Json | bytes | Exception | type[Exception]


def answer(
    text: str | None = None,
    *,
    finish_reason: str = "stop",
    usage: Json | None = USAGE,
    extra: Json | None = None,
) -> Answer:
    """Return a text reply that differs from a plain one, e.g. `extra={"refusal": "I will not"}`."""
    return Answer(text, (), finish_reason, usage, extra or {})


def calls(
    *wanted: tuple[str, Json | str],
    text: str | None = None,
    ids: Sequence[str] | None = None,
    usage: Json | None = USAGE,
) -> Answer:
    """Return tool calls, each `(name, arguments)`; arguments given as text are sent as they are."""
    made = tuple(
        (ids[index] if ids else None, name, given if isinstance(given, str) else json.dumps(given))
        for index, (name, given) in enumerate(wanted)
    )
    return Answer(text, made, "tool_calls", usage)


def status(
    code: int,
    headers: Mapping[str, str] | None = None,
    body: Json | str | bytes | None = None,
) -> Status:
    """Return an HTTP error; without a body it has the API's own error shape."""
    if body is None:
        body = error_body(f"scripted status {code}", ERROR_TYPES.get(code, "server_error"))
    if isinstance(body, Mapping):
        body = json.dumps(body)
    content = body.encode() if isinstance(body, str) else body
    return Status(code, {"content-type": "application/json", **(headers or {})}, content)


def sse(events: Sequence[Json | str | bytes]) -> Sse:
    """Return a raw stream: a dict or a str becomes a `data:` event, bytes are sent as they are."""
    return Sse(b"".join(map(_event, events)))


def drip(seconds: float, text: str = "It means everywhere at once.") -> Fault:
    """Return an answer that arrives one byte every so many seconds."""
    return Fault("drip", Answer(text), seconds)


def error_in_stream(
    message: str, *, kind: str = "server_error", code: str | None = None, text: str = ""
) -> Fault:
    """Return an error that comes under status 200, in a stream after `text`."""
    return Fault("error", Answer(text), error=error_body(message, kind, code=code))


def error_body(
    message: str,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> Json:
    """Return an error in the API's shape."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


reset_before_headers = Fault("reset")
reset_after_headers = Fault("reset_later")
truncated = Fault("cut")
truncated_sse = Fault("end_early")
hang = Fault("hang")
malformed_json = Fault("malformed")
empty_body = Status(200, {"content-type": "application/json"}, b"")
html_error = status(
    502, {"content-type": "text/html"}, "<html><body><h1>502 Bad Gateway</h1></body></html>"
)


def completion(reply: Answer, model: str, number: int) -> bytes:
    """Return an answer as the body of a request that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [_call(reply, index, number) for index in range(len(reply.calls))]
    choice = {
        "index": 0,
        "message": {**message, **reply.extra},
        "logprobs": None,
        "finish_reason": reply.finish_reason,
    }
    body = {**_envelope("chat.completion", model, number), "choices": [choice]}
    if reply.usage is not None:
        body["usage"] = reply.usage
    return json.dumps(body, ensure_ascii=False).encode()


def beginning(reply: Answer, model: str, number: int, with_usage: bool) -> list[bytes]:
    """Return a stream's events up to the last piece of what the model says."""
    return [_chunk([_choice(delta)], model, number, with_usage) for delta in _deltas(reply, number)]


def ending(reply: Answer, model: str, number: int, with_usage: bool) -> list[bytes]:
    """Return the events that end a stream: why it ends, the usage if wanted, and `[DONE]`."""
    events = [_chunk([_choice({}, reply.finish_reason)], model, number, with_usage)]
    if with_usage and reply.usage is not None:
        events.append(_chunk([], model, number, with_usage, reply.usage))
    return [*events, _event("[DONE]")]


def _chunk(
    choices: list[Json], model: str, number: int, with_usage: bool, usage: Json | None = None
) -> bytes:
    event = {**_envelope("chat.completion.chunk", model, number), "choices": choices}
    return _event({**event, "usage": usage} if with_usage else event)


def _deltas(reply: Answer, number: int) -> list[Json]:
    deltas: list[Json] = [{"role": "assistant", "content": "", "refusal": None}]
    for name, value in {**reply.extra, "content": reply.text}.items():
        parts = _pieces(value) if isinstance(value, str) else [value]
        deltas += [{name: part} for part in parts if part is not None]
    for index, (_, _, arguments) in enumerate(reply.calls):
        call = {"index": index, **_call(reply, index, number)}
        deltas.append({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(arguments)
        ]
    return deltas


def _call(reply: Answer, index: int, number: int) -> dict[str, Any]:
    given, name, arguments = reply.calls[index]
    identifier = given or f"call_{number}_{index}"
    function = {"name": name, "arguments": arguments}
    return {"id": identifier, "type": "function", "function": function}


def _choice(delta: Json, finish_reason: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _envelope(kind: str, model: str, number: int) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": 1_700_000_000,
        "model": model,
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


def _pieces(text: str) -> list[str]:
    size = -(-len(text) // 3) or 1
    return [text[start : start + size] for start in range(0, len(text), size)]


def _event(event: Json | str | bytes) -> bytes:
    if isinstance(event, bytes):
        return event
    data = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return f"data: {data}\n\n".encode()
