"""Replies of Chat Completions: whole bodies, streams and failures, as values and errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import LlmError, MalformedReply, error_class, stream_error_class
from ...messages import FinishReason, Message, Part, Reply, Text, Thinking, Usage, encode_json
from ...observability.redact import mask, shorten
from ...retry import retry_after
from ..events import TextDelta, ThinkingDelta
from ..provider import Delta, parse_tool_call

_FINISH: dict[str, FinishReason] = {"length": "length", "content_filter": "blocked"}
_REASONING = ("reasoning_content", "reasoning")  # DeepSeek and vLLM; OpenRouter, Ollama and Groq


def failure(provider: str, status: int, body: bytes, headers: Mapping[str, str]) -> LlmError:
    """Return the error that a response other than 200 means, in one line."""
    text = body.decode("utf-8", "replace")
    message = mask(shorten(" ".join(_error_text(text).split()), 400)) or "no explanation"
    kind = error_class(status, text)
    return kind(
        f"{provider} answered {status}: {message}", status=status, retry_after=retry_after(headers)
    )


def _error_text(body: str) -> str:
    """Return the message of an error body, and the parameter it is about."""
    try:
        data = json.loads(body)
    except ValueError:
        return body
    error = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(error, dict):
        return str(error)
    message = str(error.get("message") or error)
    parameter = error.get("param")
    return f"{message} (parameter {parameter})" if parameter else message


def reply_of(body: bytes, provider: str, replay: Sequence[str], model: str) -> Reply:
    """Return the reply in a complete response body; raises `MalformedReply` for anything else."""
    try:
        data = json.loads(body)
    except ValueError:
        start = mask(shorten(body[:200].decode("utf-8", "replace"), 200))
        raise MalformedReply(f"{provider} sent no JSON: {start!r}") from None
    parser = ReplyParser(provider, replay, model)
    parser.take(data, "message")
    return parser.reply()


class ReplyParser:
    """Puts a reply together from a whole response or from the events of a stream.

    Servers differ in how they stream calls: pieces carry an index or none, and some give every
    call the same index, so a new id starts a new call.
    """

    def __init__(self, provider: str, replay: Sequence[str], model: str) -> None:
        self._provider = provider
        self._replay_names = replay
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._refusal: list[str] = []
        self._replay: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._usage: Mapping[str, Any] = {}
        self._finish: str | None = None
        self._seen = self._done = False

    def feed(self, event: bytes) -> Delta | None:
        """Take one event of a stream and return the delta it brings, if any."""
        if event[:1] != b"{":
            self._done = self._done or event.strip() == b"[DONE]"
            return None
        try:
            data = json.loads(event)
        except ValueError:
            raise MalformedReply(f"{self._provider} streamed broken JSON") from None
        return self.take(data, "delta")

    def take(self, data: Any, key: str) -> Delta | None:
        """Take a decoded response or event, whose content stands under `key`."""
        try:
            if data.get("error"):
                raise self._error(data["error"])
            self._usage = data.get("usage") or self._usage
            self._model = data.get("model") or self._model
            choices = data.get("choices")
            if choices:
                self._seen = True
                self._finish = choices[0].get("finish_reason") or self._finish
                return self._content(choices[0].get(key) or {})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"{self._provider} sent a reply of an unknown shape ({type(error).__name__})"
            raise MalformedReply(problem) from None
        return None

    def reply(self) -> Reply:
        """Return the whole reply. Raises `MalformedReply` when nothing came, or not all of it."""
        if not self._seen:
            raise MalformedReply(f"{self._provider} sent an empty response")
        if self._finish is None and not self._done:
            raise MalformedReply(f"{self._provider} broke off in the middle of a reply")
        text, thinking = "".join(self._text), "".join(self._thinking)
        parts: list[Part] = []
        if thinking or self._replay:
            replay = {self._provider: self._replay} if self._replay else None
            parts.append(Thinking(thinking, replay))
        if text:
            parts.append(Text(text))
        for number, call in enumerate(self._calls):
            call_id = call["id"] or f"call_{number}"
            parts.append(parse_tool_call(call_id, call["name"], call["arguments"]))
        detail = "".join(self._refusal)
        reason = self._reason(bool(text or self._calls), detail)
        message = Message("assistant", tuple(parts))
        return Reply(message, reason, _usage(self._usage), self._model, text, detail)

    def _content(self, content: dict[str, Any]) -> Delta | None:
        if content.get("refusal"):
            self._refusal.append(content["refusal"])
        for piece in content.get("tool_calls") or ():
            self._call(piece)
        for name in self._replay_names:
            self._keep(name, content.get(name))
        text = content.get("content")
        if text:
            text = text if isinstance(text, str) else _joined(text)
            self._text.append(text)
            return TextDelta(text)
        for name in _REASONING:
            if content.get(name):
                self._thinking.append(content[name])
                return ThinkingDelta(content[name])
        return None

    def _call(self, piece: dict[str, Any]) -> None:
        function, index, call_id = piece.get("function") or {}, piece.get("index"), piece.get("id")
        if index is None and not call_id and self._calls:
            index = self._calls[-1]["index"]
        call = next((c for c in reversed(self._calls) if c["index"] == index), None)
        if call is None or (call_id and call["id"] and call_id != call["id"]):
            call = {"index": index, "id": "", "name": "", "arguments": ""}
            self._calls.append(call)
        call["id"] = call["id"] or call_id or ""
        call["name"] = call["name"] or function.get("name") or ""
        arguments = function.get("arguments") or ""
        call["arguments"] += arguments if isinstance(arguments, str) else encode_json(arguments)

    def _keep(self, name: str, value: Any) -> None:
        """Keep a field that must be sent back: texts and lists grow piece by piece."""
        if value:
            kept = self._replay.get(name)
            self._replay[name] = value if kept is None else kept + value

    def _reason(self, has_content: bool, refusal: str) -> FinishReason:
        if refusal:
            return "refused"
        reason = _FINISH.get(self._finish or "", "stop")
        return "empty" if reason == "stop" and not has_content else reason

    def _error(self, error: Any) -> LlmError:
        text = encode_json(error)
        message = mask(shorten(_error_text(encode_json({"error": error})), 400))
        return stream_error_class(text)(f"{self._provider} failed: {message}", status=200)


def _joined(content: list[dict[str, Any]]) -> str:
    return "".join(part.get("text") or "" for part in content if part.get("type") == "text")


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0
    return Usage(
        usage.get("prompt_tokens") or 0,
        usage.get("completion_tokens") or 0,
        cached,
        prompt.get("cache_write_tokens") or 0,
        completion.get("reasoning_tokens") or 0,
    )
