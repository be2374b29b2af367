"""Calls through litellm that are given up, and errors that show no more than they should."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import httpx2
import pytest

from ....errors import AuthenticationFailed, ConfigError, LlmError
from ....llm.model_uri import ModelURI
from ....llm.provider import Request
from ....llm.providers.litellm import create
from ....messages import Message
from ....transport import HttpClients
from ...litellm_routes import CLAUDE, OPENAI, ask, both_routes, both_ways, provider, quiet

pytestmark = quiet
HELLO = [Message.user("hello")]
KEY = "sk-canary-7f3a9c5524"


@both_ways
@pytest.mark.parametrize("uri", [OPENAI, CLAUDE])
async def test_a_call_can_be_cancelled_while_the_server_hangs(uri: str, streaming: bool) -> None:
    """As a deadline does it; litellm has none of its own that matters."""
    arrived, ended = asyncio.Event(), asyncio.Event()

    async def respond(request: httpx2.Request) -> httpx2.Response:
        arrived.set()
        try:
            return await asyncio.Future[httpx2.Response]()
        finally:
            ended.set()

    made = create(ModelURI.parse(uri), HttpClients(httpx2.MockTransport(respond)))
    task = asyncio.create_task(ask(made, Request(HELLO), streaming))
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


@both_routes
async def test_an_abandoned_stream_closes_its_response(uri: str, make_fake: Any) -> None:
    """A consumer that stops listening frees the connection."""
    with make_fake(["a long answer that nobody reads"]) as fake:
        events = provider(fake, uri).stream(Request(HELLO))
        await anext(events)
        assert fake.open == 1
        await events.aclose()
        assert fake.open == 0


def shown(error: BaseException) -> str:
    """Return everything an error shows to whoever looks at it, its causes included."""
    text = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        text += f"{seen!r} {vars(seen)!r}"
        seen = seen.__cause__ or seen.__context__
    return text


def echo(code: int) -> Any:
    """Return a server that sends back what it was sent, headers included."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        seen = {"url": str(request.url), "headers": dict(request.headers)}
        return httpx2.Response(code, json={"error": {"message": json.dumps(seen)}})

    return respond


def refuse(request: httpx2.Request) -> httpx2.Response:
    """Fail with an error that holds the request's headers."""
    raise httpx2.ConnectError(f"failed for {request.url} with {dict(request.headers)}")


@pytest.mark.checklist("secrets")
@both_ways
@pytest.mark.parametrize(
    "respond",
    [echo(400), echo(401), echo(500), echo(200), refuse],
    ids=["400", "401", "500", "200", "refused"],
)
@pytest.mark.parametrize(
    "uri", ["litellm/openai/gpt-5-mini", "litellm/anthropic/claude-sonnet-4-5"]
)
async def test_no_error_shows_a_key(uri: str, respond: Any, streaming: bool) -> None:
    """A server that echoes the request, and a failure that carries it, are both masked."""
    clients = HttpClients(httpx2.MockTransport(respond))
    made = create(ModelURI.parse(f"{uri}?apiKey={KEY}"), clients)
    with pytest.raises(LlmError) as caught:
        await ask(made, Request(HELLO), streaming)
    assert KEY not in shown(caught.value)


async def test_an_unknown_provider_is_named() -> None:
    """Before anything is sent."""
    made = create(ModelURI.parse("litellm/nobody/m?apiKey=sk-test-0123456789"), HttpClients())
    with pytest.raises(ConfigError, match="litellm knows no provider 'nobody'"):
        await made.complete(Request(HELLO))


async def test_an_error_that_never_reached_the_wire_has_litellms_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bedrock looks for credentials first."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    made = create(ModelURI.parse("litellm/bedrock/anthropic.claude-v3"), HttpClients())
    with pytest.raises(AuthenticationFailed, match="litellm/bedrock failed with status 401"):
        await made.complete(Request(HELLO))
