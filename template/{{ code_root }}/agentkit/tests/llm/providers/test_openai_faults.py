"""The Responses adapter when the server or the connection fails: requests, waits and errors."""

from __future__ import annotations

import json
import traceback
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
from ....llm.events import Finished, TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....llm.requester import LlmRequester
from ....messages import Message, Reply
from ....transport import HttpClients
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
KEY = "sk-canary-7f3a9c5524"
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


def provider(transport: httpx2.MockTransport, uri: str = RESPONSES) -> Provider:
    """Return the provider of a URI over a transport."""
    return create_provider(ModelURI.parse(uri), HttpClients(transport))


async def ask(made: Provider, streaming: bool) -> Reply | None:
    """Send a greeting, as a stream or not."""
    if not streaming:
        return await made.complete(Request(HELLO))
    events = [event async for event in made.stream(Request(HELLO))]
    return events[-1] if isinstance(events[-1], Reply) else None


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
    with FakeResponses([fault] * 3) as fake:
        with pytest.raises(LlmError) as caught:
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


async def test_a_refused_parameter_is_named() -> None:
    """The server's own words, and the parameter they are about."""
    with (
        FakeResponses([], refusals=1) as fake,
        pytest.raises(BadRequest, match=r"openai answered 400: .* \(parameter temperature\)"),
    ):
        request = Request(HELLO, settings={"temperature": 0.5})
        await provider(fake.transport).complete(request)


async def test_a_refused_connection_has_a_hint() -> None:
    """The error names the address, not the SDK's class of it."""
    with FakeResponses([httpx2.ConnectError]) as fake, pytest.raises(ConnectionFailed) as caught:
        await provider(fake.transport).complete(Request(HELLO))
    assert str(caught.value).startswith("no reply from https://api.openai.com/v1 (ConnectError")
    assert str(caught.value).endswith("is the server running?")


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_body_that_cannot_be_decoded_is_malformed(streaming: bool) -> None:
    """Broken compression is the server's fault, and tried again."""
    bad = status(200, {"content-encoding": "gzip"}, b"no gzip")
    with FakeResponses([bad]) as fake, pytest.raises(MalformedReply, match="cannot be decoded"):
        await ask(provider(fake.transport), streaming)


async def test_an_abandoned_stream_closes_its_response() -> None:
    """A consumer that stops listening frees the connection."""
    with FakeResponses(["a long answer that nobody reads"]) as fake:
        events = provider(fake.transport).stream(Request(HELLO))
        assert isinstance(await anext(events), TextDelta)
        assert fake.open == 1
        await events.aclose()
        assert fake.open == 0


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    """Some servers hang up right after their last event."""

    class HangsUp(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            output = [{"type": "message", "content": [{"text": "hi"}]}]
            event = {"type": "response.completed", "response": {"output": output}}
            yield f"data: {json.dumps(event)}\n\n".encode()
            raise httpx2.RemoteProtocolError("incomplete chunked read")

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=HangsUp()))
    reply = await ask(provider(transport), True)
    assert reply is not None
    assert reply.message.text == "hi"


def shown(error: BaseException) -> str:
    """Return everything an error shows to whoever looks at it, its causes included."""
    text = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        text += f"{seen!r} {vars(seen)!r}"
        seen = seen.__cause__ or seen.__context__
    return text


def echo(code: int) -> Callable[[httpx2.Request], httpx2.Response]:
    """Return a server that repeats what it was sent."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen = {"url": str(request.url), "headers": dict(request.headers)}
        return httpx2.Response(code, json={"error": {"message": json.dumps(seen)}})

    return respond


def fail(request: httpx2.Request) -> httpx2.Response:
    """Fail like a connection whose error repeats the request."""
    raise httpx2.ConnectError(f"failed for {request.url} with {dict(request.headers)}")


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("respond", [echo(400), echo(401), echo(500), echo(200), fail])
@pytest.mark.parametrize(
    "query",
    [
        f"apiKey={KEY}",
        f"apiKey=sk-other-key&baseURL=http://h/v1?key={KEY}",
        f"apiKey=sk-other-key&baseURL=http://user:{KEY}@h/v1",
    ],
)
async def test_no_error_shows_a_key(query: str, respond: Any, streaming: bool) -> None:
    """A server that echoes the request, and a failure that carries it, are both masked."""
    made = provider(httpx2.MockTransport(respond), f"responses://openai/m?{query}")
    with pytest.raises(LlmError) as caught:
        await ask(made, streaming)
    assert KEY not in shown(caught.value)
    assert "***" in str(caught.value)
