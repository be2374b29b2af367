"""What litellm hands out, whole or in chunks, as a reply: the shape is OpenAI's, with additions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ...errors import MalformedReply, Overloaded
from ...messages import Message, Part, Reply, Thinking, ToolCall, Usage
from ..provider import Delta
from .chat_reply import ReplyParser

Json = dict[str, Any]
# What the provider itself called the end of a reply; litellm makes a plain "stop" of most.
_MALFORMED = (
    *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"),
    *("MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"),
)
_GAVE_UP = ("error", "ERROR", "network_error")
_GROWING = ("thinking", "signature")  # fields of a block that a stream sends in pieces


class ReplyCollector:
    """Puts a reply together, and keeps what must be sent back with it.

    That is `reasoning_content`, `thinking_blocks` with their signatures, and Gemini's signatures of
    calls and texts, which litellm puts into fields of its own.
    """

    def __init__(self, dialect: str, model: str, *, whole: bool = False) -> None:
        self._parser = ReplyParser(dialect, ("reasoning_content",), model, whole=whole)
        self._whole = whole
        self._dialect = dialect
        self._blocks: list[Json] = []
        self._pieces: list[dict[str, list[str]]] = []  # of what grows in each block
        self._fields: Json = {}  # of the message
        self._call_fields: list[Json] = []  # of each call
        self._counts: dict[str, int] = {}
        self._native = ""

    def take(self, data: Json) -> Delta | None:
        """Take a response or a chunk as plain data, and return the delta it brings, if any.

        The usage of a chunk is left out: litellm makes one up where the provider sends none.
        """
        for choice in data.get("choices") or ():
            self._native = _fields(choice).get("native_finish_reason") or self._native
            self._keep(choice.get("message") or choice.get("delta") or {})
        usage = data.pop("usage", None)
        if self._whole:
            self.count(usage)
        return self._parser.take(data)

    def count(self, usage: Any) -> None:
        """Take the counts of a response or chunk. They grow, so the highest are the last."""
        if usage is None:
            return
        counts = _counts(usage if isinstance(usage, dict) else usage.model_dump())
        for name, count in counts.items():
            self._counts[name] = max(count, self._counts.get(name, 0))

    def reply(self) -> Reply:
        """Return the whole reply. Raises `MalformedReply` or `Overloaded` for what is none."""
        reply = self._parser.reply()
        if self._native in _MALFORMED:
            raise MalformedReply(f"{self._dialect} sent a broken call: {self._native}")
        if self._native in _GAVE_UP:
            raise Overloaded(f"{self._dialect} gave up: {self._native}", status=200)
        reply = dataclasses.replace(
            reply, message=self._with_replay(reply.message), usage=Usage(**self._counts)
        )
        if self._native == "refusal":
            detail = reply.detail or self._native
            return dataclasses.replace(reply, finish_reason="refused", detail=detail)
        if reply.finish_reason == "blocked":
            return dataclasses.replace(reply, detail=self._native)
        return reply

    def _keep(self, content: Json) -> None:
        for block in content.get("thinking_blocks") or ():
            self._keep_block(block)
        signatures = _fields(content).get("thought_signatures")
        if signatures:
            self._fields = {"provider_specific_fields": {"thought_signatures": signatures}}
        for call in content.get("tool_calls") or ():
            signature = _fields(call).get("thought_signature")
            if call.get("id"):
                self._call_fields.append({})
            if signature and self._call_fields:
                kept = {"provider_specific_fields": {"thought_signature": signature}}
                self._call_fields[-1] = kept

    def _keep_block(self, block: Json) -> None:
        """Keep a block of thinking; in a stream it comes in pieces, its signature last."""
        if self._blocks and not self._whole and _goes_on(self._blocks[-1], block):
            for name in _GROWING:
                piece = str(block.get(name) or "")
                self._blocks[-1][name] = self._blocks[-1].get(name) or piece
                self._pieces[-1][name].append(piece)
        else:
            self._blocks.append(dict(block))
            self._pieces.append({name: [str(block.get(name) or "")] for name in _GROWING})

    def _with_replay(self, message: Message) -> Message:
        thinking = [part for part in message.parts if isinstance(part, Thinking)]
        replay = dict((thinking[0].replay or {}).get(self._dialect, {})) if thinking else {}
        if self._blocks:
            replay["thinking_blocks"] = list(map(_assembled, self._blocks, self._pieces))
        replay |= self._fields
        parts: list[Part] = []
        if thinking or replay:
            text = "".join(part.text for part in thinking)
            parts.append(Thinking(text, {self._dialect: replay} if replay else None))
        parts += [part for part in message.parts if not isinstance(part, Thinking | ToolCall)]
        return Message("assistant", (*parts, *self._calls(message.tool_calls)))

    def _calls(self, calls: Iterable[ToolCall]) -> Iterable[ToolCall]:
        for number, call in enumerate(calls):
            fields = self._call_fields[number] if number < len(self._call_fields) else {}
            replay = {self._dialect: fields} if fields else None
            yield dataclasses.replace(call, replay=replay)


def _goes_on(last: Json, block: Json) -> bool:
    """Tell whether a piece belongs to the block before it: Anthropic's carry the block's index."""
    if last.get("type") != "thinking" or block.get("type") != "thinking":
        return False
    if "index" in block:
        return bool(block["index"] == last.get("index"))
    return not last.get("signature")


def _assembled(block: Json, pieces: dict[str, list[str]]) -> Json:
    """Return a block as it is sent back: with its pieces joined, and without its index."""
    joined = {name: "".join(pieces[name]) for name in _GROWING if len(pieces[name]) > 1}
    return {name: value for name, value in (block | joined).items() if name != "index"}


def _fields(value: Json) -> Json:
    return value.get("provider_specific_fields") or {}


def _counts(usage: Json) -> dict[str, int]:
    """Return the counts under our names; litellm has already added what came from a cache."""
    read = usage.get("prompt_tokens_details") or {}
    written = usage.get("completion_tokens_details") or {}
    counts = {
        "input_tokens": usage.get("prompt_tokens"),
        "output_tokens": usage.get("completion_tokens"),
        "cache_read_tokens": read.get("cached_tokens"),
        "cache_write_tokens": read.get("cache_write_tokens") or read.get("cache_creation_tokens"),
        "reasoning_tokens": written.get("reasoning_tokens"),
    }
    return {name: int(count or 0) for name, count in counts.items()}
