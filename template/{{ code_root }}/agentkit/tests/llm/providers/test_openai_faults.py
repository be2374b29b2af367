"""What each fault costs over the Responses API: requests, waits, and the error in the end."""

from __future__ import annotations

from collections.abc import Callable
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
    answer,
    drip,
    empty_body,
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
)
from ...conftest import MakeRequester
from ...fake_responses import RESPONSES, FakeResponses

HELLO = [Message.user("hello")]
QUOTA = error_body("You exceeded your current quota", "insufficient_quota")
LONG = error_body("Your input exceeds the context window of this model", code="context_length")
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
    (error_in_stream("Overloaded", kind="overloaded_error"), Overloaded),
    (error_in_stream("The server had an error", text="Hel"), Overloaded),
]
FATAL = [
    (status(400), BadRequest),
    (status(401), AuthenticationFailed),
    (status(402), QuotaExhausted),
    (status(403), AuthenticationFailed),
    (status(404), UnknownModel),
    (status(413), BadRequest),
    (status(422), BadRequest),
    (status(301, {"location": "http://elsewhere/"}), BadRequest),
    (status(429, body=QUOTA), QuotaExhausted),
    (error_in_stream("no credit", code="insufficient_quota"), QuotaExhausted),
    (error_in_stream("flagged", code="invalid_prompt", kind="error"), BadRequest),
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
    with FakeResponses([fault] * 3) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, RESPONSES), streaming)
    assert (type(caught.value), caught.value.attempts) == (kind, 3)
    assert (len(fake.bodies), sleeps) == (3, [1.0, 2.0])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_after_a_transient_fault_the_answer_is_as_if_nothing_had_been(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester
) -> None:
    """One request more, the same as the first."""
    with FakeResponses([fault, "hi"]) as fake:
        assert await run(requester(fake, RESPONSES), streaming) == "hi"
    assert fake.bodies[0] == fake.bodies[1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FATAL)
async def test_a_fatal_fault_costs_one_request(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Trying again cannot help."""
    with FakeResponses([fault]) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, RESPONSES), streaming)
    assert (type(caught.value), len(fake.bodies), sleeps) == (kind, 1, [])


async def test_a_context_too_long_is_tried_once_more_and_shorter(requester: MakeRequester) -> None:
    """One compaction, one more request, then its own error."""
    with FakeResponses([status(400, body=LONG)] * 2) as fake, pytest.raises(ContextTooLong):
        await run(requester(fake, RESPONSES), False)
    assert len(fake.bodies) == 2


@pytest.mark.parametrize("events", [[], ["[DONE]"], [b": nothing\n\n"], [b"data: {broken\n\n"]])
async def test_a_stream_of_nothing_is_tried_again(
    events: list[Any], requester: MakeRequester
) -> None:
    """Zero events, and events that are none."""
    with FakeResponses([sse(events), truncated_sse, "hi"]) as fake:
        assert await run(requester(fake, RESPONSES), True) == "hi"
    assert len(fake.bodies) == 3


@pytest.mark.parametrize("streaming", [False, True])
async def test_missing_usage_is_no_fault(streaming: bool, requester: MakeRequester) -> None:
    """The answer counts."""
    with FakeResponses([answer("hi", usage=None)]) as fake:
        assert await run(requester(fake, RESPONSES), streaming) == "hi"


@pytest.mark.parametrize(
    ("headers", "waits"),
    [({"retry-after": "7"}, [7.0]), ({"retry-after-ms": "250"}, [0.25]), ({}, [1.0])],
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
    with FakeResponses([status(429, headers), "hi"]) as fake:
        await run(requester(fake, RESPONSES), streaming)
    assert sleeps == waits


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
    monkeypatch.setattr("openai._base_client.asyncify", at_once, raising=False)
    with FakeResponses([fault, fault, "hi"]) as fake:
        llm = requester(fake, f"{RESPONSES}&timeout=1000")
        assert await run(llm, streaming) == "hi"
