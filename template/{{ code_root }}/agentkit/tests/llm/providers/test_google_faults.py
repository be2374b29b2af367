"""Gemini when something goes wrong: how many requests it costs, and what error is left."""

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
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.requester import LlmRequester
from ....llm.result import GenerateResult
from ....messages import Message
from ....transport import HttpClients
from ...chat_replies import (
    drip,
    empty_body,
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
from ...fake_gemini import GEMINI, FakeGemini, google_fault
from ...gemini_rules import google_error

HELLO = [Message.user("hello")]
QUOTA = "You exceeded your current quota, please check your plan and billing details."
LONG = google_error(400, "The input token count (1200000) exceeds the maximum number of tokens")
WRONG_KEY = google_error(400, "API key not valid.", {"reason": "API_KEY_INVALID"})


def limited(quota: str, delay: str | None = "7s") -> Any:
    """Return Gemini's 429: which quota it is about, and how long to wait."""
    violation = {"@type": "…/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}
    retry = [{"@type": "…/google.rpc.RetryInfo", "retryDelay": delay}] if delay else []
    body = google_error(429, QUOTA, violation, *retry, status="RESOURCE_EXHAUSTED")
    return status(429, body=body)


DAY, MINUTE = "GenerateRequestsPerDayPerProject", "GenerateRequestsPerMinutePerProject"
TRANSIENT = [
    *((status(code), Overloaded) for code in (500, 502, 503, 504, 520, 529, 408, 409, 425)),
    (status(429), RateLimited),
    (html_error, Overloaded),
    (status(503, body=b"\xff\xfe"), Overloaded),
    (status(503, body=b"[" * 100_000), Overloaded),
    (reset_before_headers, ConnectionFailed),
    (reset_after_headers, ConnectionFailed),
    (truncated, ConnectionFailed),
    (httpx2.ConnectError, ConnectionFailed),
    (httpx2.ConnectTimeout, ConnectionFailed),
    (OSError("no route to host"), ConnectionFailed),
    (status(200, {"content-encoding": "gzip"}, b"no gzip"), MalformedReply),
    (malformed_json, MalformedReply),
    (empty_body, MalformedReply),
    ({"candidates": []}, MalformedReply),
    (b"<html>Login</html>", MalformedReply),
]
FATAL = [
    (status(400), BadRequest),
    (status(400, body=WRONG_KEY), AuthenticationFailed),
    (status(401), AuthenticationFailed),
    (status(402), QuotaExhausted),
    (status(403), AuthenticationFailed),
    (status(404), UnknownModel),
    (status(405), BadRequest),
    (status(413), BadRequest),
    (status(422), BadRequest),
    (status(301, {"location": "http://elsewhere/"}), BadRequest),
    (limited(DAY), QuotaExhausted),
    (limited(MINUTE, None), QuotaExhausted),
]


async def ask(llm: LlmRequester, streaming: bool) -> GenerateResult:
    """Run over a greeting, listening or not."""
    if not streaming:
        return await llm(HELLO)
    events = [event async for event in llm.stream(HELLO)]
    assert isinstance(events[-1], Finished)
    return events[-1].result


async def failure(llm: LlmRequester, streaming: bool) -> LlmError:
    """Return the error that a run ends with."""
    with pytest.raises(LlmError) as caught:
        await ask(llm, streaming)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_transient_fault_is_waited_out(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """One request more, after one second: the SDK's own retries are off."""
    with FakeGemini([fault, "hi"]) as fake:
        result = await ask(requester(fake, GEMINI), streaming)
    assert (result.text, len(fake.bodies), sleeps) == ("hi", 2, [1.0])
    assert fake.requests[0] == fake.requests[1]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), TRANSIENT)
async def test_a_fault_that_stays_costs_three_requests(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Then the error says what it was."""
    with FakeGemini([fault] * 3) as fake:
        error = await failure(requester(fake, GEMINI), streaming)
    assert (type(error), error.attempts) == (kind, 3)
    assert (len(fake.bodies), sleeps) == (3, [1.0, 2.0])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FATAL)
async def test_a_fatal_fault_costs_one_request(
    fault: Any, kind: type, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """Trying again cannot help."""
    with FakeGemini([fault]) as fake:
        error = await failure(requester(fake, GEMINI), streaming)
    assert (type(error), error.attempts) == (kind, 1)
    assert (len(fake.bodies), sleeps) == (1, [])


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        (google_fault(503, "The model is overloaded.", "UNAVAILABLE", "Hel"), Overloaded, 3),
        (google_fault(500, "Internal error.", "INTERNAL"), Overloaded, 3),
        (google_fault(429, "Resource exhausted", "RESOURCE_EXHAUSTED", "Hel"), RateLimited, 3),
        (google_fault(401, "No.", "UNAUTHENTICATED", "Hel"), AuthenticationFailed, 1),
        (truncated_sse, MalformedReply, 3),
        (sse([]), MalformedReply, 3),
        (sse([b"data: {broken\n\n"]), MalformedReply, 3),
        (sse([b"nonsense\n\n"]), MalformedReply, 3),
        (sse([{"error": "no object"}]), MalformedReply, 3),
        (sse([{"error": {"message": "no code"}}]), MalformedReply, 3),
    ],
)
async def test_a_stream_that_goes_wrong_under_status_200(
    fault: Any, kind: type, requests: int, requester: MakeRequester
) -> None:
    """An error in the middle, an end too soon, nothing at all."""
    with FakeGemini([fault] * requests) as fake:
        error = await failure(requester(fake, GEMINI), True)
    assert (type(error), len(fake.bodies)) == (kind, requests)


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (status(429, {"retry-after": "7"}), 7.0),
        (limited(MINUTE), 7.0),
        (limited(MINUTE, "1.5s"), 1.5),
        (status(503, {"retry-after": "2"}), 2.0),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_the_servers_hint_is_waited_for(
    fault: Any, seconds: float, streaming: bool, requester: MakeRequester, sleeps: list[float]
) -> None:
    """In a header, or in the error's details; a limit per minute is no quota used up."""
    with FakeGemini([fault, "hi"]) as fake:
        await ask(requester(fake, GEMINI), streaming)
    assert sleeps == [seconds]


async def test_a_context_too_long_is_tried_once_more(requester: MakeRequester) -> None:
    """One compaction, one more request, then its own error."""
    with FakeGemini([status(400, body=LONG)] * 2) as fake:
        error = await failure(requester(fake, GEMINI), False)
    assert (type(error), len(fake.bodies)) == (ContextTooLong, 2)


@pytest.mark.virtual_time
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("fault", [hang, drip(0.3, "x" * 100)])
async def test_a_server_that_never_finishes_is_given_up(
    fault: Any, streaming: bool, requester: MakeRequester
) -> None:
    """The deadline is ours; the SDK has none."""
    with FakeGemini([fault, fault, "hi"]) as fake:
        result = await ask(requester(fake, f"{GEMINI}&timeout=1000"), streaming)
    assert (result.text, len(fake.bodies)) == ("hi", 3)


async def test_a_refused_parameter_is_named() -> None:
    """The API's own words."""
    with FakeGemini([], refusals=1) as fake, pytest.raises(BadRequest, match="stopSequences"):
        await provider(fake).complete(Request(HELLO, settings={"stop": ["x"] * 6}))


def provider(fake: FakeGemini) -> Provider:
    """Return a provider over a fake server."""
    return create_provider(ModelURI.parse(GEMINI), HttpClients(fake.transport))
