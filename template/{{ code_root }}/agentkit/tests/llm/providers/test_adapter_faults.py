"""The adapter when the server, the connection or the key is not what it should be."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from ....errors import (
    AuthenticationFailed,
    BadRequest,
    ConfigError,
    ConnectionFailed,
    MalformedReply,
)
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...chat_replies import completion
from ...conftest import MODEL
from ...fake_chat import (
    FakeChat,
    Rules,
    answer,
    reset_after_headers,
    reset_before_headers,
    status,
    truncated,
)

HELLO = [Message.user("hello")]


def provider(fake: FakeChat, uri: str = MODEL) -> Provider:
    """Return the provider of a URI over a fake server."""
    return create_provider(ModelURI.parse(uri), HttpClients(fake.transport))


async def stream(made: Provider, request: Request) -> tuple[list[Any], Reply]:
    """Return the deltas of a streamed reply, and the reply."""
    events = [event async for event in made.stream(request)]
    reply = events.pop()
    assert isinstance(reply, Reply)
    return events, reply


@pytest.mark.parametrize("fault", [reset_before_headers, httpx2.ConnectError, OSError("no route")])
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_broken_connection_is_one_error(fault: Any, streaming: bool) -> None:
    """Whatever the layers below raise, the caller gets a ConnectionFailed with the address."""
    with FakeChat([fault]) as fake, pytest.raises(ConnectionFailed, match="no reply from https"):
        await _ask(provider(fake), streaming)


async def _ask(made: Provider, streaming: bool) -> Reply:
    if streaming:
        return (await stream(made, Request(HELLO)))[1]
    return await made.complete(Request(HELLO))


async def test_a_refused_connection_has_a_hint() -> None:
    """The usual reason is a local server that does not run."""
    with FakeChat([httpx2.ConnectError]) as fake, pytest.raises(ConnectionFailed) as caught:
        await provider(fake).complete(Request(HELLO))
    assert str(caught.value).endswith("is the server running?")


@pytest.mark.parametrize("fault", [reset_after_headers, truncated])
async def test_a_stream_that_breaks_keeps_what_came_out(fault: Any) -> None:
    """Deltas that came before are told; the error follows."""
    events: list[Any] = []

    async def listen(made: Provider) -> None:
        async for event in made.stream(Request(HELLO)):
            events.append(event)

    with FakeChat([fault]) as fake, pytest.raises(ConnectionFailed):
        await listen(provider(fake))
    assert all(isinstance(event, TextDelta) for event in events)
    assert bool(events) is (fault is truncated)


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    """Some servers hang up right after [DONE], in the middle of the protocol."""

    class HangsUp(httpx2.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n'
            raise httpx2.RemoteProtocolError("incomplete chunked read")

    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=HangsUp()))
    made = create_provider(ModelURI.parse(MODEL), HttpClients(transport))
    _, reply = await stream(made, Request(HELLO))
    assert reply.message.text == "hi"


async def test_a_body_that_cannot_be_decoded_is_malformed() -> None:
    """Broken compression is the server's fault, and tried again."""
    broken = status(200, {"content-encoding": "gzip"}, b"no gzip")
    with FakeChat([broken]) as fake, pytest.raises(MalformedReply, match="cannot be decoded"):
        await provider(fake).complete(Request(HELLO))


async def test_an_abandoned_stream_closes_its_response() -> None:
    """A consumer that stops listening frees the connection."""
    with FakeChat(["a long answer that nobody reads"]) as fake:
        events = provider(fake).stream(Request(HELLO))
        await anext(events)
        assert fake.open == 1
        await events.aclose()
        assert fake.open == 0


async def test_a_refused_parameter_is_named() -> None:
    """The server's own words, and the parameter they are about."""
    with (
        FakeChat([], rules=Rules(temperature=False), refusals=1) as fake,
        pytest.raises(BadRequest, match=r"openai answered 400: .* \(parameter temperature\)"),
    ):
        await provider(fake).complete(Request(HELLO, settings={"temperature": 0.5}))


async def test_a_server_that_knows_no_streams_is_understood() -> None:
    """Its whole reply comes as one delta."""
    body = completion(answer("Hello"), "m", 1)
    with FakeChat([status(200, body=body)]) as fake:
        deltas, reply = await stream(provider(fake), Request(HELLO))
    assert deltas == [TextDelta("Hello")]
    assert reply.message.text == "Hello"


@pytest.mark.parametrize("key", ["two words", "smart\u2019quote", "line\nbreak", "tab\there"])
def test_a_key_that_no_header_can_carry_is_refused(key: str, monkeypatch: Any) -> None:
    """A pasted key with a stray character is told at once, without showing it."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="the key of openai holds a space") as caught:
        create_provider(ModelURI.parse("openai/m"), HttpClients())
    assert key not in str(caught.value)


async def test_a_wrong_key_says_so() -> None:
    """401 is the one failure that everybody meets first."""
    with FakeChat([status(401)]) as fake, pytest.raises(AuthenticationFailed, match="answered 401"):
        await provider(fake).complete(Request(HELLO))
