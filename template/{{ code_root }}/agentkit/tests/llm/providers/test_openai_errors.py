"""The Responses adapter when the server, the connection or the key is not what it should be."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from ....errors import BadRequest, ConnectionFailed, LlmError, MalformedReply
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...chat_replies import status
from ...fake_responses import RESPONSES, FakeResponses

HELLO = [Message.user("hello")]
KEY = "sk-canary-7f3a9c5524"


def provider(transport: httpx2.MockTransport, uri: str = RESPONSES) -> Provider:
    """Return the provider of a URI over a transport."""
    return create_provider(ModelURI.parse(uri), HttpClients(transport))


async def ask(made: Provider, streaming: bool) -> Reply | None:
    """Send a greeting, as a stream or not."""
    if not streaming:
        return await made.complete(Request(HELLO))
    events = [event async for event in made.stream(Request(HELLO))]
    return events[-1] if isinstance(events[-1], Reply) else None


async def test_a_refused_parameter_is_named() -> None:
    """The server's own words, and the parameter they are about."""
    with (
        FakeResponses([], refusals=1) as fake,
        pytest.raises(BadRequest, match=r"openai answered 400: .* \(parameter temperature\)"),
    ):
        await provider(fake.transport).complete(Request(HELLO, settings={"temperature": 0.5}))


async def test_a_refused_connection_has_a_hint() -> None:
    """The error names the address, not the SDK's class of it."""
    with FakeResponses([httpx2.ConnectError]) as fake, pytest.raises(ConnectionFailed) as caught:
        await provider(fake.transport).complete(Request(HELLO))
    url = "https://api.openai.com/v1/responses"
    assert str(caught.value).startswith(f"no reply from {url} (ConnectError")
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
@pytest.mark.parametrize(
    "respond",
    [echo(400), echo(401), echo(500), echo(200), fail],
    ids=["400", "401", "500", "200", "refused"],
)
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
