"""Records as a requester would send them, for tests of the call log and its reader."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from ...messages import Message, Reply, Usage
from ...observability.call_log import CallLog
from ...observability.records import AttemptFinished, AttemptStarted, CallFinished, CallStarted

_numbers = count(1)


def started(
    messages: Sequence[Message],
    identifier: str = "chat",
    stage: str = "main",
    *,
    model: str = "chat://openai/gpt-5-mini",
    settings: dict[str, Any] | None = None,
    run: int = 1,
) -> CallStarted:
    """Return the start of a call with a number of its own."""
    settings = {"temperature": 0.2} if settings is None else settings
    number = next(_numbers)
    return CallStarted(
        number, run, identifier, stage, model, messages, settings, ("get_word",), None
    )


def reply(message: Message, raw: str = "") -> Reply:
    """Return a reply that holds the message."""
    return Reply(message, "stop", Usage(100, 20, cache_read_tokens=60), "gpt-5-mini-2025", raw)


def attempt(
    call: CallStarted,
    reply: Reply | None,
    *,
    number: int = 1,
    error: BaseException | None = None,
    problem: str | None = None,
) -> AttemptFinished:
    """Return the end of one attempt that took half a second and cost a tenth of a cent."""
    return AttemptFinished(call.call, number, reply, error, problem, 0.001, 0.5)


def finished(
    call: CallStarted, error: BaseException | None = None, attempts: int = 1
) -> CallFinished:
    """Return the end of a call."""
    reason = None if error else "stop"
    return CallFinished(call.call, reason, error, attempts, Usage(100, 20), 0.001, 0.6)


def play(
    log: CallLog, messages: Sequence[Message], answer: Message, identifier: str = "chat"
) -> None:
    """Send the records of a call that succeeds at once."""
    call = started(tuple(messages), identifier)
    log(call)
    log(AttemptStarted(call.call, 1))
    log(attempt(call, reply(answer)))
    log(finished(call))
