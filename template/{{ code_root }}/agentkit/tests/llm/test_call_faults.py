"""How many requests each fault costs, how long is waited, and what error is left in the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest

from ...errors import (
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
from ...llm.events import Finished
from ...llm.requester import LlmRequester
from ...llm.result import GenerateResult
from ...messages import Message
from ..conftest import MODEL, MakeRequester
from ..fake_chat import (
    FakeChat,
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

HELLO = [Message.user("hello")]
QUOTA = error_body("You exceeded your current quota", "insufficient_quota")
LONG = error_body("maximum context length is 8192 tokens", code="context_length_exceeded")
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
    ({"choices": []}, MalformedReply),
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
    (status(405), BadRequest),
    (status(413), BadRequest),
    (status(422), BadRequest),
    (status(301, {"location": "http://elsewhere/"}), BadRequest),
    (status(429, body=QUOTA), QuotaExhausted),
    (status(400, body=error_body("max_tokens 1500 is too large: rate limit 500")), BadRequest),
    (status(401, body="overloaded, 503"), AuthenticationFailed),
    (error_in_stream("no credit", code="insufficient_quota"), QuotaExhausted),
]


async def ask(llm: LlmRequester, streaming: bool, **more: Any) -> GenerateResult:
    """Run over a greeting, listening or not."""
    if not streaming:
        return await llm(HELLO, **more)
    events = [event async for event in llm.stream(HELLO, **more)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


async def failure(llm: LlmRequester, streaming: bool) -> LlmError:
    """Return the error that a run ends with."""
    with pytest.raises(LlmError) as caught:
        await ask(llm, streaming)
    return caught.value


@pytest.mark.checklist("requester")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_transient_fault_is_waited_out(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """One request more, after one second; the answer is as if nothing had been."""
    with FakeChat([fault, "hi"]) as fake:
        result = await ask(requester(fake), streaming)
    assert (result.text, len(fake.requests), sleeps) == ("hi", 2, [1.0])
    assert fake.requests[0] == fake.requests[1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_fault_that_stays_costs_three_requests(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Two waits, none after the last attempt; the error says how often it was tried."""
    with FakeChat([fault] * 3) as fake:
        error = await failure(requester(fake), streaming)
    assert (type(error), error.attempts) == (kind, 3)
    assert (len(fake.bodies), sleeps) == (3, [1.0, 2.0])


@pytest.mark.checklist("requester")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FATAL)
async def test_a_fatal_fault_costs_one_request(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Trying again cannot help; the status decides, not a number in the text."""
    with FakeChat([fault]) as fake:
        error = await failure(requester(fake), streaming)
    assert (type(error), error.attempts) == (kind, 1)
    assert (len(fake.bodies), sleeps) == (1, [])


@pytest.mark.parametrize("code", [400, 413, 422])
async def test_a_context_too_long_is_tried_once_more_and_shorter(
    code: int, requester: MakeRequester
) -> None:
    """One compaction, one more request, then its own error."""
    with FakeChat([status(code, body=LONG)] * 2) as fake:
        error = await failure(requester(fake), False)
    assert type(error) is ContextTooLong
    assert len(fake.bodies) == 2


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_stream_that_just_ends_is_tried_again(
    streaming: bool, requester: MakeRequester
) -> None:
    """A stream without its end is no answer; a whole body cut short is no JSON."""
    fault = truncated_sse if streaming else malformed_json
    with FakeChat([fault, "hi"]) as fake:
        assert (await ask(requester(fake), streaming)).text == "hi"
    assert len(fake.bodies) == 2


@pytest.mark.parametrize("events", [[], ["[DONE]"], [b": nothing\n\n"], [b"data: {broken\n\n"]])
async def test_a_stream_of_nothing_is_tried_again(
    events: Sequence[Any], requester: MakeRequester
) -> None:
    """Zero chunks, and chunks that are none."""
    with FakeChat([sse(events), "hi"]) as fake:
        assert (await ask(requester(fake), True)).text == "hi"
    assert len(fake.bodies) == 2


@pytest.mark.parametrize("streaming", [False, True])
async def test_missing_usage_is_no_fault(streaming: bool, requester: MakeRequester) -> None:
    """The answer counts; what it took is not known, and neither is its cost."""
    with FakeChat([answer("hi", usage=None)]) as fake:
        result = await ask(requester(fake), streaming)
    assert (result.text, result.usage.total_tokens, result.estimated_cost) == ("hi", 0, None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, None),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "60"}, 60.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after": "soon"}, 1.0),
        ({}, 1.0),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_the_servers_hint_is_waited_for(
    headers: dict[str, str],
    seconds: float | None,
    streaming: bool,
    requester: MakeRequester,
    sleeps: list[float],
) -> None:
    """Seconds or milliseconds, to the point; without a usable hint the wait doubles."""
    with FakeChat([status(429, headers), "hi"]) as fake:
        await ask(requester(fake), streaming)
    assert sleeps == ([] if seconds is None else [seconds])


@pytest.mark.parametrize("code", [503, 529, 408])
async def test_a_hint_counts_with_any_status(
    code: int, requester: MakeRequester, sleeps: list[float]
) -> None:
    """An overloaded server knows best as well."""
    with FakeChat([status(code, {"retry-after": "7"}), "hi"]) as fake:
        await ask(requester(fake), False)
    assert sleeps == [7.0]


async def test_a_date_is_a_hint_too(requester: MakeRequester, sleeps: list[float]) -> None:
    """An HTTP date that is over means at once."""
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    with FakeChat([status(429, {"retry-after": past}), "hi"]) as fake:
        await ask(requester(fake), False)
    assert sleeps == []


TOMORROW = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)


@pytest.mark.parametrize("hint", ["61", "86400", pytest.param(TOMORROW, id="a-date")])
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_wait_over_a_minute_is_not_waited(
    hint: str, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """The error comes at once and says how long it would be: the caller decides."""
    with FakeChat([status(429, {"retry-after": hint})]) as fake:
        error = await failure(requester(fake), streaming)
    assert (type(error), error.attempts, sleeps) == (RateLimited, 1, [])
    assert error.retry_after is not None
    assert error.retry_after > 60


@pytest.mark.virtual_time
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("fault", [hang, drip(0.3, "x" * 100)])
async def test_a_server_that_never_finishes_is_given_up(
    fault: Any, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """The deadline is for the whole attempt: a byte now and then does not extend it."""
    with FakeChat([fault, fault, "hi"]) as fake:
        result = await ask(requester(fake, MODEL + "&timeout=1000"), streaming)
    assert (result.text, len(fake.bodies), sleeps) == ("hi", 3, [1.0, 2.0])
