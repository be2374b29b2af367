"""No error of the adapter shows a key, in its text, its causes, or anywhere else."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from ....errors import LlmError
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message
from ....transport import HttpClients

KEY = "sk-canary-7f3a9c5524"


async def ask(made: Provider, streaming: bool) -> None:
    """Send one small request."""
    request = Request([Message.user("hello")])
    if streaming:
        async for _ in made.stream(request):
            pass
    else:
        await made.complete(request)


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


def fail(kind: type[Exception]) -> Callable[[httpx2.Request], httpx2.Response]:
    def respond(request: httpx2.Request) -> httpx2.Response:
        raise kind(f"failed for {request.url} with {dict(request.headers)}")

    return respond


@pytest.mark.checklist("secrets")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "respond",
    [echo(400), echo(401), echo(500), echo(200), fail(httpx2.ConnectError)],
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
    clients = HttpClients(httpx2.MockTransport(respond))
    made = create_provider(ModelURI.parse(f"openai/m?{query}"), clients)
    with pytest.raises(LlmError) as caught:
        await ask(made, streaming)
    assert KEY not in shown(caught.value)
    assert "***" in str(caught.value)
