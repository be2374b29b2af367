"""The Messages adapter when the server or the connection fails: requests, waits and errors."""

from __future__ import annotations

import json
import traceback
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
from ....llm.events import Finished, TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.requester import LlmRequester
from ....messages import Message
from ....transport import HttpClients
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
KEY = "sk-ant-canary-7f3a9c5524"


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


def provider(fake: FakeMessages) -> Provider:
    """Return the provider over a fake server."""
    return create_provider(ModelURI.parse(MESSAGES), HttpClients(fake.transport))


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


async def test_an_abandoned_stream_closes_its_response() -> None:
    """A consumer that stops listening frees the connection."""
    with FakeMessages(["a long answer that nobody reads"]) as fake:
        events = provider(fake).stream(Request(HELLO))
        assert isinstance(await anext(events), TextDelta)
        assert fake.open == 1
        await events.aclose()
        assert fake.open == 0


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    """The reply was whole."""
    with FakeMessages(["hi"]) as fake:
        whole = [event async for event in provider(fake).stream(Request(HELLO))]

    class HangsUp(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b'data: {"type":"message_start","message":{"model":"m"}}\n\n'
            yield b'data: {"type":"message_stop"}\n\n'
            raise httpx2.RemoteProtocolError("incomplete chunked read")

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=HangsUp()))
    made = create_provider(ModelURI.parse(MESSAGES), HttpClients(transport))
    events = [event async for event in made.stream(Request(HELLO))]
    assert (len(whole), len(events)) == (4, 1)


def shown(error: BaseException) -> str:
    """Return everything an error shows to whoever looks at it, its causes included."""
    text = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        text += f"{seen!r} {vars(seen)!r}"
        seen = seen.__cause__ or seen.__context__
    return text


def echo(code: int) -> Callable[[httpx2.Request], httpx2.Response]:
    def respond(request: httpx2.Request) -> httpx2.Response:
        seen = {"url": str(request.url), "headers": dict(request.headers)}
        return httpx2.Response(code, json={"error": {"message": json.dumps(seen)}})

    return respond


def refuse(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError(f"failed for {request.url} with {dict(request.headers)}")


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("respond", [echo(400), echo(401), echo(500), echo(200), refuse])
@pytest.mark.parametrize(
    "query",
    [
        f"apiKey={KEY}",
        f"apiKey=sk-other-key&baseURL=http://h/v1?key={KEY}",
        f"apiKey=sk-other-key&baseURL=http://user:{KEY}@h",
    ],
)
async def test_no_error_shows_a_key(query: str, respond: Any, streaming: bool) -> None:
    """A server that echoes the request, and a failure that carries it, are both masked."""
    clients = HttpClients(httpx2.MockTransport(respond))
    made = create_provider(ModelURI.parse(f"anthropic/m?{query}"), clients)
    with pytest.raises(LlmError) as caught:
        if streaming:
            async for _ in made.stream(Request(HELLO)):
                pass
        else:
            await made.complete(Request(HELLO))
    assert KEY not in shown(caught.value)
