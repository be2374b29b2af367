"""Replies of the Messages API, whole or streamed, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from ...errors import MalformedReply
from ...messages import FinishReason, Message, Part, Reply, Text, Thinking, ToolCall, Usage
from ...texts import clean, clean_json, decode_json, encode_json
from ..events import TextDelta, ThinkingDelta
from ..provider import Delta, parse_tool_call
from .anthropic_wire import DIALECT, Block
from .call_ids import CallIds
from .failures import reported
from .reply_body import event_json, json_of

_FINISH: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # only the last of a turn that was paused too often
    "refusal": "refused",
}
# What data of another shape leads to.
_ODD = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


def read_message(body: bytes) -> dict[str, Any]:
    """Return the message in a complete response body; raises `LlmError` for anything else."""
    data = json_of(body, DIALECT)
    if not isinstance(data, dict):
        raise _odd(TypeError)
    if data.get("error"):
        raise reported(DIALECT, data["error"])
    return data


def reply_of(messages: Sequence[Mapping[str, Any]], model: str) -> Reply:
    """Return the reply in a message, or in several that are one turn with pauses."""
    try:
        return _reply(messages, model)
    except _ODD as error:
        kind = type(error)
    raise _odd(kind)


class StreamParser:
    """Puts a message together from the events of a stream; `done` tells that it is complete."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, Block] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._complete: dict[str, Any] | None = None
        self.done = False

    def feed(self, event: bytes) -> Delta | None:
        """Take one event and return the delta it brings, if any. Raises `LlmError`."""
        data = event_json(event, DIALECT)
        try:
            return self._take(data)
        except _ODD as error:
            kind = type(error)
        raise _odd(kind)

    def take(self, body: bytes) -> Delta:
        """Take the body of a response that is no stream, and return all its text."""
        self._complete = read_message(body)
        self.done = True
        return TextDelta(reply_of([self._complete], "").message.text)

    def message(self) -> dict[str, Any]:
        """Return the message as a whole response holds it. Raises `MalformedReply`."""
        if self._complete is not None:
            return self._complete
        if not self._message:
            raise MalformedReply(f"{DIALECT} sent an empty response")
        if not self.done and not self._message.get("stop_reason"):
            raise MalformedReply(f"{DIALECT} broke off in the middle of a reply")
        try:
            content = [self._whole(index) for index in sorted(self._blocks)]
            return {**self._message, "content": content, "usage": self._usage}
        except _ODD as error:
            kind = type(error)
        raise _odd(kind)

    def _take(self, data: Any) -> Delta | None:
        if data.get("error"):
            raise reported(DIALECT, data["error"])
        match data["type"]:
            case "content_block_delta":
                return self._delta(data["index"], data["delta"])
            case "content_block_start":
                self._blocks[data["index"]] = dict(data["content_block"])
            case "message_start":
                self._message = dict(data["message"])
                self._count(self._message.get("usage"))
            case "message_delta":
                self._message |= data["delta"]
                self._count(data.get("usage"))
            case "message_stop":
                self.done = True
        return None

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Take counts: those of a later event are sums, and replace earlier ones."""
        self._usage |= {name: count for name, count in (usage or {}).items() if count is not None}

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Delta | None:
        match delta["type"]:
            case "text_delta":
                self._add(index, "text", delta["text"])
                return TextDelta(clean(delta["text"]))
            case "input_json_delta":
                self._add(index, "input", delta["partial_json"])
            case "thinking_delta":
                self._add(index, "thinking", delta["thinking"])
                return ThinkingDelta(clean(delta["thinking"]))
            case "signature_delta":
                self._add(index, "signature", delta["signature"])
        return None

    def _add(self, index: int, name: str, piece: str) -> None:
        if index not in self._blocks:
            raise KeyError(index)
        self._pieces.setdefault(index, {}).setdefault(name, []).append(piece)

    def _whole(self, index: int) -> Block:
        block = self._blocks[index]
        for name, pieces in self._pieces.get(index, {}).items():
            text = "".join(pieces)
            block[name] = _arguments(text) if name == "input" else (block.get(name) or "") + text
        return block


def _arguments(text: str) -> Any:
    """Return a call's arguments, as text where they are no JSON."""
    try:
        return decode_json(text) if text.strip() else {}
    except ValueError:
        return text


def _reply(messages: Sequence[Mapping[str, Any]], model: str) -> Reply:
    last = messages[-1]
    reason = _FINISH.get(last.get("stop_reason") or "", "stop")
    blocks = [block for message in messages for block in message["content"]]
    ids = CallIds(DIALECT)
    parts = [part for block in blocks if (part := _part(block, ids)) is not None]
    if reason == "refused":  # nothing that was refused half-way may run
        parts = [part for part in parts if not isinstance(part, ToolCall)]
    elif reason == "length" and parts and isinstance(parts[-1], ToolCall):
        parts[-1] = _cut_off(parts[-1])
    said = any(isinstance(p, ToolCall) or (isinstance(p, Text) and p.text.strip()) for p in parts)
    if reason == "stop" and not said:
        reason = "empty"
    message = Message("assistant", tuple(parts))
    usage = reduce(add, [_usage(message.get("usage") or {}) for message in messages])
    name = str(last.get("model") or model)
    return Reply(message, reason, usage, name, message.text, _detail(last))


def _part(block: Block, ids: CallIds) -> Part | None:
    """Return a block as a part. What is opaque rides along whole, to be sent back as it came."""
    match block["type"]:
        case "text":
            return Text(block["text"]) if block["text"] else None
        case "tool_use":
            given = block.get("input") or {}
            raw = given if isinstance(given, str) else encode_json(given)
            return parse_tool_call(ids.own(str(block["id"])), str(block["name"]), raw)
        case "thinking":
            replay = {DIALECT: clean_json(block)} if block.get("signature") else None
            return Thinking(clean(block["thinking"] or ""), replay)
        case _:
            return Thinking(replay={DIALECT: clean_json(block)})


def _cut_off(call: ToolCall) -> ToolCall:
    """Return a call that cannot run: what there is of it may be JSON, and half of what was meant.

    A tool that wrote a file would write half of it.
    """
    return ToolCall(call.id, call.name, {}, call.malformed or f"{call.arguments_text[:-1]}…")


def _detail(message: Mapping[str, Any]) -> str:
    """Return what the API says about why it stopped."""
    details = message.get("stop_details") or {}
    said = [details.get("category"), details.get("explanation")]
    if message.get("stop_reason") in ("model_context_window_exceeded", "pause_turn"):
        said.append(message["stop_reason"])
    return ": ".join(clean(text) for text in said if text)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the counts in our meaning: this API's input leaves out what a cache took or gave."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    fresh, read, written = (int(usage.get(name) or 0) for name in names)
    details = usage.get("output_tokens_details") or {}
    output, thinking = usage.get("output_tokens"), details.get("thinking_tokens")
    return Usage(fresh + read + written, int(output or 0), read, written, int(thinking or 0))


def _odd(kind: type[Exception]) -> MalformedReply:
    return MalformedReply(f"{DIALECT} sent a reply of an unknown shape ({kind.__name__})")
