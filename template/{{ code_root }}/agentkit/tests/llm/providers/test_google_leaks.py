"""What Gemini's adapter must not leave behind: open connections, and keys in errors."""

from __future__ import annotations

import gc
import json
from typing import Any

import httpx2
import pytest

from ....errors import LlmError
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...fake_gemini import GEMINI, FakeGemini, google_fault
from ...gemini_rules import google_error

HELLO = [Message.user("hello")]


def provider(fake: FakeGemini) -> Provider:
    """Return a provider over a fake server."""
    return create_provider(ModelURI.parse(GEMINI), HttpClients(fake.transport))


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    """The reply is complete when its reason to end has come."""

    class HangsUp(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            parts = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
            yield f"data: {json.dumps({'candidates': [parts]})}\n\n".encode()
            raise httpx2.RemoteProtocolError("incomplete chunked read")

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=HangsUp()))
    made = create_provider(ModelURI.parse(GEMINI), HttpClients(transport))
    *_, reply = [event async for event in made.stream(Request(HELLO))]
    assert isinstance(reply, Reply)
    assert reply.message.text == "hi"


async def test_a_stream_that_fails_closes_its_response() -> None:
    """At once, although the error of the SDK holds on to it."""
    fault = google_fault(503, "overloaded", "UNAVAILABLE", "Hel")
    with FakeGemini([fault]) as fake, pytest.raises(LlmError) as caught:
        await listen(provider(fake))
    assert caught.value.status == 200
    assert fake.open == 0


async def test_an_abandoned_stream_closes_its_response() -> None:
    """At once, although the SDK leaves that to the garbage collector."""
    with FakeGemini(["a long answer that nobody reads"]) as fake:
        events = provider(fake).stream(Request(HELLO))
        await anext(events)
        assert fake.open == 1
        gc.disable()
        try:
            await events.aclose()
            assert fake.open == 0
        finally:
            gc.enable()


KEY = "AIza-canary-7f3a9c5524"


def echo(code: int) -> Any:
    """Answer with what was asked, headers included."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen = json.dumps({"url": str(request.url), "headers": dict(request.headers)})
        body = google_error(code, seen)
        if code == 200:
            return httpx2.Response(200, content=f"data: {json.dumps(body)}\n\n".encode())
        return httpx2.Response(code, json=body)

    return respond


def fail(request: httpx2.Request) -> httpx2.Response:
    """Fail with everything that was sent in the text."""
    raise httpx2.ConnectError(f"failed for {request.url} with {dict(request.headers)}")


async def listen(made: Provider) -> None:
    """Read a stream to its end."""
    async for _ in made.stream(Request(HELLO)):
        pass


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "respond",
    [echo(400), echo(401), echo(500), echo(200), fail],
    ids=["400", "401", "500", "200", "refused"],
)
async def test_no_error_shows_the_key(respond: Any, streaming: bool) -> None:
    """Neither its text, nor what stands behind it."""
    clients = HttpClients(httpx2.MockTransport(respond))
    made = create_provider(ModelURI.parse(f"google/gemini-3.8-flash?apiKey={KEY}"), clients)
    with pytest.raises(LlmError) as caught:
        await (listen(made) if streaming else made.complete(Request(HELLO)))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    assert KEY not in f"{error} {error!r} {vars(error)}"
