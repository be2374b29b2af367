"""Short ways to write conversations down, and a strict reading of what providers accept."""

from __future__ import annotations

import io
from collections.abc import Sequence

from ...messages import Message, Text, ToolCall, ToolResult
from ...observability.logger import Logger


def system(text: str = "SYS") -> Message:
    return Message.system(text)


def user(text: str) -> Message:
    return Message.user(text)


def assistant(text: str) -> Message:
    return Message.assistant(text)


def calls(*ids: str) -> Message:
    """An assistant turn that calls the tool `t` once per id."""
    return Message("assistant", tuple(ToolCall(id, "t", {}) for id in ids))


def results(*ids: str, text: str = "r") -> Message:
    """A tool turn with one result of this text per id."""
    return Message("tool", tuple(ToolResult(id, "t", (Text(text),)) for id in ids))


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def weight(messages: Sequence[Message]) -> int:
    return sum(message.weight for message in messages)


def recording_logger() -> tuple[Logger, io.StringIO]:
    """A logger, and what it writes."""
    stream = io.StringIO()
    return Logger("test", stream=stream), stream
