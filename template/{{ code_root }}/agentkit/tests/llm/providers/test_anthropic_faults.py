"""The Messages adapter when the server or the connection fails: requests, waits and errors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from ....errors import (
    AuthenticationFailed,
    BadRequest,
    ConnectionFailed,
    ContextTooLong,
    LlmError,
    MalformedReply,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    UnknownModel,
)
from ....llm.events import Finished
from ....llm.requester import LlmRequester
from ....messages import Message
from ...chat_replies import (
    Json,
    answer,
    drip,
    empty_body,
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
)
from ...conftest import MakeRequester
from ...fake_messages import MESSAGES, FakeMessages, error_event

HELLO = [Message.user("hello")]


def error(message: str, kind: str = "invalid_request_error", **details: str) -> Json:
    """Return an error in the API's shape."""
    return {"type": "error", "error": {"type": kind, "message": message, "details": details}}


TOO_LONG = error("prompt is too long: 210000 tokens > 200000 maximum")
NO_CREDIT = error("Your credit balance is too low to access the Anthropic API.")
SPENT = error("Limit reached", "rate_limit_error", error_code="enforced_spend_limit_reached")
TRANSIENT = [
    *((status(code), Overloaded) for code in (500, 502, 503, 520, 529, 408, 409, 425)),
    (status(429), RateLimited),
    (html_error, Overloaded),
    (reset_before_headers, ConnectionFailed),
    (reset_after_headers, ConnectionFailed),
    (truncated, ConnectionFailed),
    (httpx2.ConnectError, ConnectionFailed),
    (httpx2.ConnectTimeout, ConnectionFailed),
    (OSError("no route to host"), ConnectionFailed),
    (malformed_json, MalformedReply),
    (empty_body, MalformedReply),
    ({}, MalformedReply),
    (b"<html>Login</html>", MalformedReply),
    (status(200, {"content-encoding": "gzip"}, b"no gzip"), MalformedReply),
    (error_event("Overloaded"), Overloaded),
    (error_event("Internal server error", "api_error", text="Hel"), Overloaded),
    (error_event("Slow down", "rate_limit_error", text="Hel"), RateLimited),
    (error_in_stream("Overloaded", kind="overloaded_error"), Overloaded),
]
FATAL = [
    (status(400), BadRequest),
    (status(401), AuthenticationFailed),
    (status(402), QuotaExhausted),
    (status(403), AuthenticationFailed),
    (status(404), UnknownModel),
    (status(413, body=error("Request exceeds the maximum size")), BadRequest),
    (status(422), BadRequest),
    (status(301, {"location": "http://elsewhere/"}), BadRequest),
    (status(400, body=NO_CREDIT), QuotaExhausted),
    (status(429, body=SPENT), QuotaExhausted),
    (status(401, body="overloaded, 503"), AuthenticationFailed),
    (error_event("Your credit balance is too low", "billing_error"), QuotaExhausted),
]


async def run(llm: LlmRequester, streaming: bool) -> str:
    """Run over a greeting and return the answer."""
    if not streaming:
        return (await llm(HELLO)).text
    events = [event async for event in llm.stream(HELLO)]
    assert isinstance(events[-1], Finished)
    return events[-1].result.text


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_transient_fault_is_tried_three_times(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """The SDK does not try again by itself, so three attempts are three requests."""
    with FakeMessages([fault] * 3) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, MESSAGES), streaming)
    assert (type(caught.value), caught.value.attempts) == (kind, 3)
    assert (len(fake.bodies), sleeps) == (3, [1.0, 2.0])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_after_a_transient_fault_the_answer_is_as_if_nothing_had_been(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester
) -> None:
    """One request more, the same as the first."""
    with FakeMessages([fault, "hi"]) as fake:
        assert await run(requester(fake, MESSAGES), streaming) == "hi"
    assert fake.bodies[0] == fake.bodies[1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FATAL)
async def test_a_fatal_fault_costs_one_request(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Trying again cannot help; the status decides where there is one."""
    with FakeMessages([fault]) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, MESSAGES), streaming)
    assert (type(caught.value), len(fake.bodies), sleeps) == (kind, 1, [])


async def test_a_context_too_long_is_tried_once_more_and_shorter(requester: MakeRequester) -> None:
    """One compaction, one more request, then its own error."""
    with FakeMessages([status(400, body=TOO_LONG)] * 2) as fake, pytest.raises(ContextTooLong):
        await run(requester(fake, MESSAGES), False)
    assert len(fake.bodies) == 2


PING: Json = {"type": "ping"}


@pytest.mark.parametrize(
    "events", [[], [PING], [b": nothing\n\n"], [b"data: {broken\n\n"], [PING, "[DONE]"]]
)
async def test_a_stream_of_nothing_is_tried_again(
    events: list[Any], requester: MakeRequester
) -> None:
    """Zero events, events that say nothing, and a stream that just ends."""
    with FakeMessages([sse(events), truncated_sse, "hi"]) as fake:
        assert await run(requester(fake, MESSAGES), True) == "hi"
    assert len(fake.bodies) == 3


@pytest.mark.parametrize("streaming", [False, True])
async def test_missing_usage_is_no_fault(streaming: bool, requester: MakeRequester) -> None:
    """The answer counts; what it took is not known."""
    with FakeMessages([answer("hi", usage=None)]) as fake:
        assert await run(requester(fake, MESSAGES), streaming) == "hi"


PAST = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"retry-after": "7"}, [7.0]),
        ({"retry-after-ms": "250"}, [0.25]),
        ({"retry-after": PAST}, []),
        ({}, [1.0]),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_the_servers_hint_is_waited_for(
    headers: dict[str, str],
    waits: list[float],
    streaming: bool,
    requester: MakeRequester,
    sleeps: list[float],
) -> None:
    """It reaches the one who waits through the SDK's error."""
    with FakeMessages([status(429, headers), "hi"]) as fake:
        await run(requester(fake, MESSAGES), streaming)
    assert sleeps == waits


async def test_a_wait_of_a_day_is_not_waited(requester: MakeRequester) -> None:
    """The error comes at once and says how long it would be."""
    with (
        FakeMessages([status(429, {"retry-after": "86400"})]) as fake,
        pytest.raises(RateLimited) as caught,
    ):
        await run(requester(fake, MESSAGES), False)
    assert (caught.value.retry_after, len(fake.bodies)) == (86_400.0, 1)


@pytest.mark.virtual_time
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("fault", [hang, drip(0.3, "x" * 100)])
async def test_a_server_that_never_finishes_is_given_up(
    fault: Any, streaming: bool, requester: MakeRequester, monkeypatch: Any
) -> None:
    """The deadline is for the whole attempt, and the SDK has none of its own."""

    def at_once(function: Callable[[], Any]) -> Any:
        async def call() -> Any:
            return function()

        return call

    # It asks for the platform in a thread; beside a thread, virtual time is as slow as real time.
    monkeypatch.setattr("anthropic._base_client.asyncify", at_once, raising=False)
    with FakeMessages([fault, fault, "hi"]) as fake:
        llm = requester(fake, f"{MESSAGES}&timeout=1000")
        assert await run(llm, streaming) == "hi"
