"""A fake of the Chat Completions API at the wire, as strict as the real one.

    with FakeChat([calls(("get_word", {"word": "ubiquitous"})), "It means everywhere."]) as fake:
        result = await requester(fake)([Message.user("What does it mean?")])
    assert fake.requests[1]["messages"][-1]["role"] == "tool"

How it is scripted, and what makes a test fail: see `FakeServer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2

from .chat_replies import (
    Answer,
    Json,
    Reply,
    answer,
    beginning,
    calls,
    completion,
    drip,
    empty_body,
    ending,
    error_body,
    error_in_stream,
    hang,
    html_error,
    malformed_json,
    reset_after_headers,
    reset_before_headers,
    sse,
    status,
    truncated,
    truncated_sse,
    usage,
)
from .chat_rules import OPENAI, check_body, read_body
from .fake_server import FakeServer
from .message_rules import Rules

__all__ = [
    "FakeChat",
    "Rules",
    "answer",
    "calls",
    "drip",
    "empty_body",
    "error_body",
    "error_in_stream",
    "hang",
    "html_error",
    "malformed_json",
    "reset_after_headers",
    "reset_before_headers",
    "sse",
    "status",
    "truncated",
    "truncated_sse",
    "usage",
]


class FakeChat(FakeServer):
    """A scripted server of Chat Completions; see `FakeServer`."""

    def __init__(
        self, replies: Sequence[Reply], *, rules: Rules = OPENAI, refusals: int = 0
    ) -> None:
        super().__init__(replies, _ChatApi(rules), refusals)


class _ChatApi:
    """Chat Completions at the wire."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def read(self, request: httpx2.Request) -> dict[str, Any]:
        return read_body(request, self._rules)

    def check(self, body: Json) -> None:
        check_body(body, self._rules)

    def whole(self, answer: Answer, request: Json, number: int) -> bytes:
        return completion(answer, request["model"], number)

    def beginning(self, answer: Answer, request: Json, number: int) -> bytes:
        return b"".join(beginning(answer, request["model"], number, _with_usage(request)))

    def ending(self, answer: Answer, request: Json, number: int) -> bytes:
        return b"".join(ending(answer, request["model"], number, _with_usage(request)))


def _with_usage(request: Json) -> bool:
    return bool(request.get("stream_options", {}).get("include_usage", False))
