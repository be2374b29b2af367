"""The Messages adapter and its connections: streams left alone, keys, and the SDK's manners."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from ....errors import LlmError
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...fake_messages import MESSAGES, FakeMessages

HELLO = [Message.user("hello")]
KEY = "sk-ant-canary-7f3a9c5524"


def provider(transport: httpx2.AsyncBaseTransport) -> Provider:
    """Return the provider over a transport."""
    return create_provider(ModelURI.parse(MESSAGES), HttpClients(transport))


async def test_an_abandoned_stream_closes_its_response() -> None:
    """A consumer that stops listening frees the connection."""
    with FakeMessages(["a long answer that nobody reads"]) as fake:
        events = provider(fake.transport).stream(Request(HELLO))
        assert isinstance(await anext(events), TextDelta)
        assert fake.open == 1
        await events.aclose()
        assert fake.open == 0


async def test_a_connection_that_breaks_after_the_end_does_no_harm() -> None:
    """Some servers hang up right after the last event."""

    class HangsUp(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'data: {"type":"message_start","message":{"model":"m"}}\n\n'
            yield b'data: {"type":"message_stop"}\n\n'
            raise httpx2.RemoteProtocolError("incomplete chunked read")

    made = provider(httpx2.MockTransport(lambda _: httpx2.Response(200, stream=HangsUp())))
    events = [event async for event in made.stream(Request(HELLO))]
    assert [type(event) for event in events] == [Reply]


def test_the_sdk_is_loaded_only_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds: a provider that nobody asks costs nothing."""
    for name in [name for name in sys.modules if name.split(".")[0] == "anthropic"]:
        monkeypatch.delitem(sys.modules, name)
    create_provider(ModelURI.parse(MESSAGES), HttpClients())
    assert "anthropic" not in sys.modules


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-6"])
async def test_the_sdk_says_nothing(model: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor does it warn, of models that it calls old or of their thinking."""
    uri = ModelURI.parse(f"anthropic/{model}?apiKey={KEY}&reasoning=2000")
    with FakeMessages(["hi"]) as fake:
        made = create_provider(uri, HttpClients(fake.transport))
        await made.complete(Request(HELLO, settings=uri.settings))
    assert capfd.readouterr() == ("", "")


async def ask(made: Provider, streaming: bool) -> None:
    """Send one small request."""
    if streaming:
        async for _ in made.stream(Request(HELLO)):
            pass
    else:
        await made.complete(Request(HELLO))


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
@pytest.mark.parametrize(
    "respond",
    [echo(400), echo(401), echo(500), echo(200), refuse],
    ids=["400", "401", "500", "200", "refused"],
)
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
        await ask(made, streaming)
    assert KEY not in shown(caught.value)
