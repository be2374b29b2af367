"""Replies of Chat Completions, whole or streamed, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...errors import MalformedReply, Overloaded
from ...messages import FinishReason, Message, Part, Reply, Text, Thinking, Usage
from ...texts import clean, encode_json
from ..events import TextDelta, ThinkingDelta
from ..provider import Delta, parse_tool_call
from .call_ids import MOST_CALLS, CallIds, too_many_calls
from .failures import reported
from .reply_body import event_json, json_of

_FINISH: dict[str, FinishReason] = {"length": "length", "content_filter": "blocked"}
_BROKEN = ("error", "insufficient_system_resource")  # OpenRouter, DeepSeek: try again
# What data of another shape leads to.
_ODD = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
_REASONING = ("reasoning_content", "reasoning")  # DeepSeek and vLLM; OpenRouter, Ollama and Groq


def reply_of(body: bytes, provider: str, replay: Sequence[str], model: str) -> Reply:
    """Return the reply in a complete response body; raises `MalformedReply` for anything else."""
    parser = ReplyParser(provider, replay, model, whole=True)
    parser.take(json_of(body, provider))
    return parser.reply()


@dataclass(slots=True)
class _Call:
    """A call that is coming in; `arguments` are the pieces of its JSON."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyParser:
    """Puts a reply together from a whole response or from the events of a stream.

    Servers differ in how they stream calls: pieces carry an index or none, and some give every
    call the same index, so a new id starts a new call. `done` tells that nothing can be missing.
    """

    def __init__(
        self, provider: str, replay: Sequence[str], model: str, *, whole: bool = False
    ) -> None:
        self._provider = provider
        self._replay_names = replay
        self._model = model
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._refusal: list[str] = []
        self._replay: dict[str, list[Any]] = {}  # the pieces of each field
        self._calls: list[_Call] = []
        self._last: dict[int | None, _Call] = {}  # by index
        self._usage: Mapping[str, Any] = {}
        self._finish: str | None = None
        self._whole = whole
        self._seen = False
        self.done = whole

    def feed(self, event: bytes) -> Delta | None:
        """Take one event of a stream and return the delta it brings, if any."""
        event = event.strip()
        if event[:1] != b"{":
            self.done = self.done or event == b"[DONE]"
            return None
        return self.take(event_json(event, self._provider))

    def take(self, data: Any) -> Delta | None:
        """Take a decoded response or event and return the delta it brings, if any."""
        try:
            return self._take(data)
        except _ODD as error:
            problem = type(error).__name__
        raise self._odd(problem)

    def reply(self) -> Reply:
        """Return the whole reply. Raises `MalformedReply` when nothing came, or not all of it."""
        if not self._seen:
            raise MalformedReply(f"{self._provider} sent an empty response")
        if self._finish is None and not self.done:
            raise MalformedReply(f"{self._provider} broke off in the middle of a reply")
        try:
            return self._reply()
        except _ODD as error:
            problem = type(error).__name__
        raise self._odd(problem)

    def _odd(self, problem: str) -> MalformedReply:
        return MalformedReply(f"{self._provider} sent a reply of an unknown shape ({problem})")

    def _take(self, data: Any) -> Delta | None:
        choices = data.get("choices")
        choice = choices[0] if choices else {}
        error = data.get("error") or choice.get("error")
        if error:
            raise reported(self._provider, error)
        self._usage = data.get("usage") or self._usage
        self._model = str(data.get("model") or self._model)
        if not choices:
            return None
        self._seen = True
        self._finish = choice.get("finish_reason") or self._finish
        return self._content(choice.get("message" if self._whole else "delta") or {})

    def _reply(self) -> Reply:
        if self._finish in _BROKEN:
            raise Overloaded(f"{self._provider} gave up: finish_reason {self._finish}", status=200)
        text, thinking = "".join(self._text), "".join(self._thinking)
        parts: list[Part] = []
        if thinking or self._replay:
            kept = {name: _joined_pieces(pieces) for name, pieces in self._replay.items()}
            parts.append(Thinking(thinking, {self._provider: kept} if kept else None))
        if text:
            parts.append(Text(text))
        ids = CallIds(self._provider)
        for call in self._calls:
            parts.append(parse_tool_call(ids.own(call.id), call.name, "".join(call.arguments)))
        detail = clean("".join(self._refusal))
        reason = self._reason(bool(text.strip() or self._calls), detail)
        message = Message("assistant", tuple(parts))
        return Reply(message, reason, _usage(self._usage), clean(self._model), text, detail)

    def _content(self, content: dict[str, Any]) -> Delta | None:
        text = content.get("content")
        if text and len(content) == 1:  # nearly every event of a stream
            return self._take_text(text)
        if content.get("refusal"):
            self._refusal.append(content["refusal"])
        for position, piece in enumerate(content.get("tool_calls") or ()):
            self._call(piece, position if self._whole else piece.get("index"))
        for name in self._replay_names:
            self._keep(name, content.get(name))
        thinking = next((content[name] for name in _REASONING if content.get(name)), None)
        if isinstance(thinking, str):
            self._thinking.append(thinking)
        if text:
            return self._take_text(text)
        return ThinkingDelta(clean(thinking)) if isinstance(thinking, str) else None

    def _take_text(self, text: str | list[dict[str, Any]]) -> TextDelta:
        if not isinstance(text, str):
            text = _joined(text)
        self._text.append(text)
        return TextDelta(clean(text))

    def _call(self, piece: dict[str, Any], index: int | None) -> None:
        function, call_id = piece.get("function") or {}, str(piece.get("id") or "")
        name, arguments = str(function.get("name") or ""), function.get("arguments") or ""
        call = self._begun_call(index, call_id, name)
        if call is None:
            if len(self._calls) == MOST_CALLS:
                raise too_many_calls(self._provider)
            call = _Call()
            self._calls.append(call)
            self._last[index] = call
        call.id = call.id or call_id
        call.name = call.name or name
        call.arguments.append(arguments if isinstance(arguments, str) else encode_json(arguments))

    def _begun_call(self, index: int | None, call_id: str, name: str) -> _Call | None:
        """Return the call that a piece goes on with; None if it begins a new one."""
        if index is None and not call_id:
            return None if name or not self._calls else self._calls[-1]
        last = self._last.get(index)
        if last is None or (call_id and last.id not in ("", call_id)):
            return None
        return last

    def _keep(self, name: str, value: Any) -> None:
        """Keep a field that must be sent back: texts and lists grow piece by piece."""
        if value:
            self._replay.setdefault(name, []).append(value)

    def _reason(self, has_content: bool, refusal: str) -> FinishReason:
        if refusal:
            return "refused"
        reason = _FINISH.get(self._finish or "", "stop")
        return "empty" if reason == "stop" and not has_content else reason


def _joined(content: list[dict[str, Any]]) -> str:
    return "".join(part.get("text") or "" for part in content if part.get("type") == "text")


def _joined_pieces(pieces: list[Any]) -> Any:
    """Return a field that came in pieces: texts and lists are joined."""
    if len(pieces) == 1:
        return pieces[0]
    if isinstance(pieces[0], str):
        return "".join(pieces)
    if not all(isinstance(piece, list) for piece in pieces):
        raise TypeError
    return list(chain.from_iterable(pieces))


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    cached = prompt.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0
    counts = (
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        cached,
        prompt.get("cache_write_tokens"),
        completion.get("reasoning_tokens"),
    )
    return Usage(*(max(0, int(count or 0)) for count in counts))
