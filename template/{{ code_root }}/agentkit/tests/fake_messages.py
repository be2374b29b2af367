"""A fake of Anthropic's Messages API at the wire, as strict as the real one.

    with FakeMessages([calls(("get_word", {"word": "x"})), "It means y."]) as fake:
        result = await requester(fake, MESSAGES)([Message.user("What does x mean?")])
    assert fake.requests[1]["messages"][-1]["content"][0]["type"] == "tool_result"

It is scripted like `FakeChat`, with the same replies; `thought(…)` is one with thinking,
`content_of(…)` one of exactly these blocks, and an answer's `extra` may hold a "refusal". How it is
used, and what makes a test fail: see `FakeServer`. It takes thinking back only as it gave it out,
behind the conversation that it came from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2

from .anthropic_content import Issued, check_messages
from .anthropic_replies import beginning_of, content_of, ending_of, message_of, thought
from .anthropic_rules import check_parameters, read_body
from .chat_replies import Answer, Fault, Json, Reply
from .fake_server import FakeServer

__all__ = ["MESSAGES", "FakeMessages", "content_of", "error_event", "thought"]

MESSAGES = "anthropic/claude-sonnet-5-5?apiKey=sk-ant-test-0123456789"


class FakeMessages(FakeServer):
    """A scripted server of the Messages API; see `FakeServer`."""

    def __init__(
        self, replies: Sequence[Reply], *, needs_key: bool = True, refusals: int = 0
    ) -> None:
        super().__init__(replies, _MessagesApi(needs_key), refusals)


class _MessagesApi:
    """The Messages API at the wire."""

    def __init__(self, needs_key: bool) -> None:
        self._needs_key = needs_key
        self._issued = Issued()
        self._paused = False

    def read(self, request: httpx2.Request) -> dict[str, Any]:
        return read_body(request, self._needs_key)

    def check(self, body: Json) -> None:
        check_parameters(body)
        check_messages(body, self._paused)
        self._issued.check(body)

    def whole(self, answer: Answer, request: Json, number: int) -> bytes:
        return json.dumps(self._issue(answer, request, number), ensure_ascii=False).encode()

    def beginning(self, answer: Answer, request: Json, number: int) -> bytes:
        return beginning_of(message_of(answer, request, number))

    def ending(self, answer: Answer, request: Json, number: int) -> bytes:
        return ending_of(self._issue(answer, request, number))

    def _issue(self, answer: Answer, request: Json, number: int) -> dict[str, Any]:
        message = message_of(answer, request, number)
        self._issued.add(request, message["content"])
        self._paused = message["stop_reason"] == "pause_turn"
        return message


def error_event(message: str, kind: str = "overloaded_error", text: str = "") -> Fault:
    """Return an error that comes under status 200, in a stream after `text`."""
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return Fault("error", Answer(text), error=error)
