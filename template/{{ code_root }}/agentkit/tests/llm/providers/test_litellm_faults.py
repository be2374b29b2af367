"""What each fault costs through litellm: requests, waits, and the error in the end."""

from __future__ import annotations

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
from ....llm.provider import Request
from ....llm.requester import LlmRequester
from ....messages import Message
from ...chat_replies import (
    empty_body,
    error_body,
    error_in_stream,
    html_error,
    malformed_json,
    reset_after_headers,
    reset_before_headers,
    status,
    truncated,
    truncated_sse,
)
from ...conftest import MakeRequester
from ...fake_chat import FakeChat
from ...fake_messages import error_event
from ...litellm_routes import (
    CLAUDE,
    OPENAI,
    FakeOldMessages,
    ask,
    both_routes,
    both_ways,
    provider,
    quiet,
)

pytestmark = quiet
HELLO = [Message.user("hello")]
QUOTA = error_body("You exceeded your current quota", "insufficient_quota")
TRANSIENT = [
    *((status(code), Overloaded) for code in (500, 502, 503, 520, 529, 408, 409, 425)),
    (status(429), RateLimited),
    (html_error, Overloaded),
    (reset_before_headers, ConnectionFailed),
    (reset_after_headers, ConnectionFailed),
    (truncated, ConnectionFailed),
    (truncated_sse, MalformedReply),
    (httpx2.ConnectError, ConnectionFailed),
    (httpx2.ConnectTimeout, ConnectionFailed),
    (OSError("no route to host"), ConnectionFailed),
    (malformed_json, MalformedReply),
    (empty_body, MalformedReply),
    ({}, MalformedReply),
    (b"<html>Login</html>", MalformedReply),
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
]


async def run(llm: LlmRequester, streaming: bool) -> str:
    """Run over a greeting and return the answer."""
    if not streaming:
        return (await llm(HELLO)).text
    events = [event async for event in llm.stream(HELLO)]
    assert isinstance(events[-1], Finished)
    return events[-1].result.text


@both_routes
@both_ways
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_transient_fault_is_tried_three_times(
    fault: Any,
    kind: type,
    streaming: bool,
    uri: str,
    make_fake: Any,
    requester: MakeRequester,
    sleeps: list[float],
) -> None:
    """litellm does not try again by itself, so three attempts are three requests."""
    with make_fake([fault] * 3) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, uri), streaming)
    assert (type(caught.value), caught.value.attempts) == (kind, 3)
    assert (len(fake.bodies), sleeps) == (3, [1.0, 2.0])


@both_routes
@both_ways
@pytest.mark.parametrize(("fault", "kind"), FATAL)
async def test_a_fatal_fault_costs_one_request(
    fault: Any,
    kind: type,
    streaming: bool,
    uri: str,
    make_fake: Any,
    requester: MakeRequester,
    sleeps: list[float],
) -> None:
    """The status is the provider's, not the one that litellm makes of it."""
    with make_fake([fault]) as fake, pytest.raises(LlmError) as caught:
        await run(requester(fake, uri), streaming)
    assert (type(caught.value), len(fake.bodies), sleeps) == (kind, 1, [])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "make_fake", "fault", "kind"),
    [
        (OPENAI, FakeChat, error_in_stream("Overloaded", kind="overloaded_error"), Overloaded),
        (OPENAI, FakeChat, error_in_stream("The server had an error", text="Hel"), Overloaded),
        (OPENAI, FakeChat, error_in_stream("x", code="insufficient_quota"), QuotaExhausted),
        (CLAUDE, FakeOldMessages, error_event("Overloaded", text="Hel"), Overloaded),
        (CLAUDE, FakeOldMessages, error_event("prompt is too long: 9 tokens"), ContextTooLong),
    ],
)
async def test_an_error_inside_a_stream_is_told_apart(
    uri: str, make_fake: Any, fault: Any, kind: type
) -> None:
    """It comes under status 200, so its words decide."""
    with make_fake([fault]) as fake, pytest.raises(LlmError) as caught:
        await ask(provider(fake, uri), Request(HELLO), True)
    assert (type(caught.value), caught.value.status) == (kind, 200)


@both_routes
@both_ways
async def test_the_servers_hint_is_waited_for(
    streaming: bool, uri: str, make_fake: Any, requester: MakeRequester, sleeps: list[float]
) -> None:
    """litellm's own errors lose the header."""
    with make_fake([status(429, {"retry-after": "7"}), "hi"]) as fake:
        assert await run(requester(fake, uri), streaming) == "hi"
    assert sleeps == [7.0]
    assert fake.bodies[0] == fake.bodies[1]


@both_routes
async def test_a_context_too_long_is_tried_once_more_and_shorter(
    uri: str, make_fake: Any, requester: MakeRequester
) -> None:
    """One compaction, one more request, then its own error."""
    long = error_body("prompt is too long: 200001 tokens > 200000 maximum")
    with make_fake([status(400, body=long)] * 2) as fake, pytest.raises(ContextTooLong):
        await run(requester(fake, uri), False)
    assert len(fake.bodies) == 2
