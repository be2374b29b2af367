"""What `stream()` yields, in the order it happens; the last event is always `Finished`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..messages import Message, ToolCall
from ..observability.records import ToolFinished, ToolStarted
from .result import GenerateResult

__all__ = [
    "Appended",
    "ApprovalNeeded",
    "Event",
    "Finished",
    "Retrying",
    "TextDelta",
    "ThinkingDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
]


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(slots=True)
class ThinkingDelta:
    """A piece of the reasoning that the provider shows."""

    text: str


class Retrying(NamedTuple):
    """The current model call starts over after `delay` seconds: its deltas so far are void."""

    attempt: int
    reason: str
    delay: float


class ToolProgress(NamedTuple):
    """A running tool tells how far it is; `total` is None where it does not know the end.

    The text comes from the tool, which may belong to somebody else.
    """

    call: ToolCall
    done: float
    total: float | None
    message: str


class ApprovalNeeded(NamedTuple):
    """A tool waits for `approve(call)`."""

    call: ToolCall


class Appended(NamedTuple):
    """Messages that now belong to the conversation; comes before what follows from them."""

    messages: tuple[Message, ...]


class Finished(NamedTuple):
    """The run is over; the same result as `run()` returns."""

    result: GenerateResult


Event = (
    TextDelta
    | ThinkingDelta
    | Retrying
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ApprovalNeeded
    | Appended
    | Finished
)
