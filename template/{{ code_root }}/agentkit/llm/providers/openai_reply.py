"""Replies of the Responses API, whole or streamed, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import BadRequest, LlmError, MalformedReply, Overloaded
from ...messages import FinishReason, Message, Part, Reply, Text, Thinking, Usage
from ...texts import clean
from ..events import TextDelta, ThinkingDelta
from ..provider import Delta, parse_tool_call
from .call_ids import CallIds
from .failures import one_line, reported
from .reply_body import event_json, json_of

_ODD = (AttributeError, KeyError, TypeError, ValueError)  # what data of another shape leads to
_INCOMPLETE: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "content_filter": "blocked",
}
_REASONING = ("type", "id", "summary", "content", "encrypted_content")
_THINKING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_FINAL = ("response.completed", "response.incomplete", "response.failed")
_REFUSED = re.compile(r"invalid_|image|policy|residency")  # codes of errors that stay


class ReplyParser:
    """Puts a reply together from a whole response, or from the events of a stream.

    The last event of a stream holds the whole response, so the others are only told on; some
    servers leave the output out of it, which is why finished items are kept. `dialect` is the key
    under which what must be sent back is kept; `done` tells that nothing can be missing.
    """

    def __init__(self, provider: str, dialect: str, model: str) -> None:
        self._provider = provider
        self._dialect = dialect
        self._model = model
        self._items: list[Any] = []
        self._response: Any = None
        self._seen = False

    @property
    def done(self) -> bool:
        return self._response is not None

    def feed(self, event: bytes) -> Delta | None:
        """Take one event of a stream and return the delta it brings, if any."""
        if event.strip() == b"[DONE]":
            return None
        data = event_json(event, self._provider)
        if not isinstance(data, dict):
            raise MalformedReply(f"{self._provider} streamed broken JSON")
        self._seen = True
        kind, delta = data.get("type"), data.get("delta")
        if kind == "response.output_text.delta" and isinstance(delta, str):
            return TextDelta(clean(delta))
        if kind in _THINKING and isinstance(delta, str):
            return ThinkingDelta(clean(delta))
        if kind == "response.output_item.done":
            self._items.append(data.get("item"))
        elif kind in _FINAL:
            self._response = data.get("response") or {}
        elif kind == "error" or data.get("error"):
            raise self._error(data.get("error") or data)
        return None

    def take(self, body: bytes) -> Reply:
        """Return the reply in the body of a response that is no stream."""
        self._response = json_of(body, self._provider)
        self._seen = True
        return self.reply()

    def reply(self) -> Reply:
        """Return the whole reply. Raises `MalformedReply` when nothing came, or not all of it."""
        if not self._seen:
            raise MalformedReply(f"{self._provider} sent an empty response")
        if not self.done:
            raise MalformedReply(f"{self._provider} broke off in the middle of a reply")
        try:
            return self._reply(self._response)
        except _ODD as error:
            problem = type(error).__name__
        raise MalformedReply(f"{self._provider} sent a reply of an unknown shape ({problem})")

    def _reply(self, response: Mapping[str, Any]) -> Reply:
        if response.get("error"):
            raise self._error(response["error"])
        items = response.get("output") or self._items
        status = response.get("status") or "completed"
        if "output" not in response and not items:
            raise MalformedReply(f"{self._provider} sent an empty response")
        if status not in ("completed", "incomplete"):
            shown = one_line(str(status))
            raise Overloaded(f"{self._provider} gave up: status {shown}", status=200)
        parts, refusal = self._parts(items)
        message = Message("assistant", tuple(parts))
        reason, detail = _outcome(message, response, refusal)
        usage, model = _usage(response.get("usage") or {}), response.get("model") or self._model
        return Reply(message, reason, usage, model, message.text, detail)

    def _parts(self, items: list[Any]) -> tuple[list[Part], str]:
        """Return what the output items say, in their order, and the text of a refusal."""
        parts: list[Part] = []
        refusal = ""
        ids = CallIds(self._provider)
        for item in items:
            match item["type"]:
                case "reasoning":
                    parts.append(self._thinking(item))
                case "message":
                    refusal += _joined(item["content"], "refusal")
                    text, phase = _joined(item["content"], "text"), item.get("phase")
                    replay = {self._dialect: {"phase": phase}} if phase else None
                    parts += [Text(text, replay)] if text else []
                case "function_call":
                    call_id = ids.own(item.get("call_id") or "")
                    parts.append(parse_tool_call(call_id, item["name"], item["arguments"] or ""))
        return parts, refusal

    def _thinking(self, item: Mapping[str, Any]) -> Thinking:
        """Return reasoning with what must be sent back: the item, if it holds what was thought."""
        shown = [*(item.get("summary") or ()), *(item.get("content") or ())]
        text = "\n\n".join(piece["text"] for piece in shown)
        if not (item.get("encrypted_content") or item.get("content")):
            return Thinking(text)  # nothing is stored: an id alone means nothing to the server
        kept = {name: item[name] for name in _REASONING if item.get(name) is not None}
        return Thinking(text, {self._dialect: {"summary": [], **kept}})

    def _error(self, error: Any) -> LlmError:
        problem = reported(self._provider, error)
        codes = f"{error.get('code')} {error.get('type')}" if isinstance(error, dict) else ""
        if type(problem) is MalformedReply and _REFUSED.search(codes):
            return BadRequest(str(problem), status=200)
        return problem


def _outcome(
    message: Message, response: Mapping[str, Any], refusal: str
) -> tuple[FinishReason, str]:
    """Return why the reply ended, and the reason of a refusal or a block."""
    if refusal:
        return "refused", refusal
    if response.get("status") == "incomplete":
        reason = str((response.get("incomplete_details") or {}).get("reason"))
        finish = _INCOMPLETE.get(reason, "length")
        return finish, reason if finish == "blocked" else ""
    empty = not (message.text.strip() or message.tool_calls)
    return ("empty" if empty else "stop"), ""


def _joined(content: list[dict[str, Any]], name: str) -> str:
    return "".join(part.get(name) or "" for part in content)


def _usage(usage: Mapping[str, Any]) -> Usage:
    read = usage.get("input_tokens_details") or {}
    written = usage.get("output_tokens_details") or {}
    counts = (
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        read.get("cached_tokens"),
        read.get("cache_write_tokens"),
        written.get("reasoning_tokens"),
    )
    return Usage(*(int(count or 0) for count in counts))
