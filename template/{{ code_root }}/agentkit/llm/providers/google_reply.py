"""Replies of Gemini, whole or streamed, as values."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING
from uuid import uuid4

from ...errors import MalformedReply
from ...messages import (
    FinishReason,
    Image,
    Message,
    Part,
    Replay,
    Reply,
    Text,
    Thinking,
    Usage,
)
from ...texts import clean
from ..events import TextDelta, ThinkingDelta
from ..provider import Delta, parse_tool_call
from .call_ids import CallIds
from .google_wire import DIALECT

if TYPE_CHECKING:
    from google.genai import types

HOPS = 10  # how often one reply is continued
_BLOCKED = {
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    *("ESCALATION", "PUP_LIMITED_DISABLED", "MODEL_ARMOR"),
}
_FAILED = {  # no answer came of it: try again
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"),
    *("MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS", "OTHER"),
}
_CUT_OFF = ("MAX_TOKENS", "CONTINUATION")


class ReplyParser:
    """Puts a reply together from what the SDK returns, or from the chunks of its streams.

    `done` tells that nothing can be missing.
    """

    def __init__(self, provider: str, model: str, *, whole: bool = False) -> None:
        self._provider = provider
        self._model = model
        self._parts: list[Part] = []
        self._ids = CallIds(provider)
        self._pieces: list[str] = []  # of the part of text that is not complete yet
        self._kind: type[Text] | type[Thinking] = Text
        self._usage = Usage()
        self._usage_before = Usage()  # of the requests before a continuation
        self._finish: str | None = None
        self._token: bytes | None = None
        self._blocked = ""
        self._detail = ""
        self._hops = 0
        self._seen = False
        self.done = whole

    def take(self, chunk: types.GenerateContentResponse) -> list[Delta]:
        """Take a response or a chunk and return the deltas it brings."""
        self._model = chunk.model_version or self._model
        if chunk.usage_metadata is not None:  # the sum so far, in every chunk
            self._usage = _usage(chunk.usage_metadata)
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            reason = _reason(feedback.block_reason, feedback.safety_ratings)
            self._blocked = ": ".join(filter(None, [reason, feedback.block_reason_message]))
            self._seen = self.done = True
        if not chunk.candidates:
            return []
        return self._candidate(chunk.candidates[0])

    def continuation(self) -> str | None:
        """Return the token that a reply goes on with which is not complete, else None."""
        if self._finish != "CONTINUATION" or not self._token or self._hops == HOPS:
            return None
        token = base64.b64encode(self._token).decode()
        self._hops += 1
        self._usage_before, self._usage = self._usage_before + self._usage, Usage()
        self._finish = self._token = None
        return token

    def reply(self) -> Reply:
        """Return the whole reply. Raises `MalformedReply` when it failed or is not complete."""
        if not self._seen:
            raise MalformedReply(f"{self._provider} sent an empty response")
        if self._finish is None and not self.done:
            raise MalformedReply(f"{self._provider} broke off in the middle of a reply")
        if self._finish in _FAILED:
            raise MalformedReply(f"{self._provider} gave up: finish reason {self._finish}")
        self._close()
        message = Message("assistant", tuple(self._parts))
        usage = self._usage_before + self._usage
        reason, detail = self._outcome(message)
        return Reply(message, reason, usage, self._model, message.text, detail)

    def _candidate(self, candidate: types.Candidate) -> list[Delta]:
        self._seen = True
        if candidate.finish_reason is not None:
            self._finish = str(candidate.finish_reason.value)
            self._detail = _reason(candidate.finish_reason, candidate.safety_ratings)
            self.done = self.done or self._finish != "CONTINUATION"
        self._token = candidate.continuation_token or self._token
        parts = (candidate.content.parts if candidate.content is not None else None) or []
        return [delta for delta in map(self._part, parts) if delta is not None]

    def _part(self, part: types.Part) -> Delta | None:
        replay: Replay | None = None
        if part.thought_signature:
            signature = base64.b64encode(part.thought_signature).decode()
            replay = {DIALECT: {"thought_signature": signature}}
        if part.function_call is not None:
            self._close()
            self._call(part.function_call, replay)
            return None
        if part.inline_data is not None and part.inline_data.data:
            self._close()
            data = base64.b64encode(part.inline_data.data).decode()
            self._parts.append(Image(part.inline_data.mime_type or "image/png", data))
            return None
        return self._text(part.text or "", Thinking if part.thought else Text, replay)

    def _text(
        self, text: str, kind: type[Text] | type[Thinking], replay: Replay | None
    ) -> Delta | None:
        """Add to the current part; text with a signature is a part of its own."""
        if replay is not None or kind is not self._kind:
            self._close()
        self._kind = kind
        if text or replay is not None:
            self._pieces.append(text)
        if replay is not None:
            self._close(replay)
        if not text:
            return None
        return ThinkingDelta(clean(text)) if kind is Thinking else TextDelta(clean(text))

    def _close(self, replay: Replay | None = None) -> None:
        if self._pieces:
            self._parts.append(self._kind("".join(self._pieces), replay))
            self._pieces = []

    def _call(self, call: types.FunctionCall, replay: Replay | None) -> None:
        call_id = self._ids.own(call.id or f"call_{uuid4().hex[:24]}")
        # Unlike ours, the SDK reads NaN: left as it is, it makes the call a malformed one.
        arguments = json.dumps(call.args or {}, ensure_ascii=False, separators=(",", ":"))
        self._parts.append(parse_tool_call(call_id, call.name or "", arguments, replay))

    def _outcome(self, message: Message) -> tuple[FinishReason, str]:
        if self._blocked or self._finish in _BLOCKED:
            return "blocked", self._blocked or self._detail
        if self._finish in _CUT_OFF:
            return "length", ""
        images = any(isinstance(part, Image) for part in message.parts)
        has_content = bool(message.text.strip() or message.tool_calls or images)
        return ("stop" if has_content else "empty"), ""


def _reason(
    reason: types.FinishReason | types.BlockedReason, ratings: list[types.SafetyRating] | None
) -> str:
    """Return a reason's name, with what was rated as harmful if that is told."""
    blocked = [r.category.value for r in ratings or () if r.blocked and r.category is not None]
    return str(reason.value) + (f" ({', '.join(blocked)})" if blocked else "")


def _usage(usage: types.GenerateContentResponseUsageMetadata) -> Usage:
    thoughts = usage.thoughts_token_count or 0
    return Usage(
        input_tokens=(usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0),
        output_tokens=(usage.candidates_token_count or 0) + thoughts,
        cache_read_tokens=usage.cached_content_token_count or 0,
        reasoning_tokens=thoughts,
    )
