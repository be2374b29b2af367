"""What observers of a run are told: the start and the end of each run, call, attempt and tool.

An observer is any callable that takes one record. It is called in the task that does the work,
must not block, and a failure of its own never reaches the run.
Times are seconds; costs are USD, None where the price is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..messages import Message, Reply, ToolCall, ToolResult, Usage


class RunStarted(NamedTuple):
    """A run began; `parent` is the run whose tool started it."""

    run: int
    identifier: str
    parent: int | None = None


class RunFinished(NamedTuple):
    """A run ended: how (`finish_reason`, or the error that was raised) and at what expense."""

    run: int
    finish_reason: str | None
    error: BaseException | None
    steps: int
    usage: Usage
    cost: float | None
    seconds: float


class CallStarted(NamedTuple):
    """A model call began. `messages` is the whole request, shared with it and never changed."""

    call: int
    run: int
    identifier: str
    stage: str
    model: str
    messages: Sequence[Message]
    settings: Mapping[str, Any]
    tools: Sequence[str]
    schema: str | None


class CallFinished(NamedTuple):
    """A model call ended, after one or more attempts."""

    call: int
    finish_reason: str | None
    error: BaseException | None
    attempts: int
    usage: Usage
    cost: float | None
    seconds: float


class AttemptStarted(NamedTuple):
    """One HTTP request is about to be made. `corrections` follow the call's messages in it."""

    call: int
    attempt: int
    corrections: Sequence[Message] = ()


class AttemptFinished(NamedTuple):
    """One attempt ended with a reply or an error. `problem` says why a reply was not accepted."""

    call: int
    attempt: int
    reply: Reply | None
    error: BaseException | None
    problem: str | None
    cost: float | None
    seconds: float


class ToolStarted(NamedTuple):
    """A tool is about to run."""

    call: ToolCall
    run: int = 0


class ToolFinished(NamedTuple):
    """A tool ended; `result` is what the model gets to read."""

    call: ToolCall
    result: ToolResult
    seconds: float
    run: int = 0


Record = (
    RunStarted
    | RunFinished
    | CallStarted
    | CallFinished
    | AttemptStarted
    | AttemptFinished
    | ToolStarted
    | ToolFinished
)
Observer = Callable[[Record], None]
