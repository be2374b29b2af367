"""What litellm is let to take of a server, and what it gives away."""

from __future__ import annotations

from base64 import b64encode

import httpx2
import pytest

from ....errors import BadRequest, LlmError, MalformedReply
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request
from ....llm.providers.litellm import create
from ....messages import Message
from ....transport import HttpClients
from ...anthropic_replies import message_of
from ...chat_replies import Answer, answer, completion, ending
from ...litellm_routes import CLAUDE, OPENAI, ask, both_ways, quiet
from ...odd_bodies import OddBody, bomb, endless, respond

pytestmark = quiet
HELLO = Request([Message.user("hello")])
GZIP = {"content-encoding": "gzip"}
JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}
HI = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}}]}\n\n'
EVENTS = HI + b"".join(ending(Answer(), "m", 1, False))


def provider(transport: httpx2.AsyncBaseTransport, uri: str) -> Provider:
    return create(ModelURI.parse(uri), HttpClients(transport))


@both_ways
@pytest.mark.parametrize("uri", [OPENAI, CLAUDE])
@pytest.mark.parametrize(
    ("body", "status", "headers", "kind"),
    [
        (endless(b"{"), 200, JSON, MalformedReply),
        (endless(b"data: {"), 200, SSE, MalformedReply),
        (bomb(40), 200, JSON | GZIP, MalformedReply),
        (bomb(40), 400, JSON | GZIP, BadRequest),
        (OddBody([b"<html>Login</html>"]), 200, {"content-type": "text/html"}, MalformedReply),
    ],
)
async def test_what_is_no_reply_is_left_and_told(
    uri: str, body: OddBody, status: int, headers: dict[str, str], kind: type, streaming: bool
) -> None:
    """Bodies without an end, and pages for people; litellm would read them all."""
    with pytest.raises(LlmError, match=r"longer than|answered 400|sent no JSON") as caught:
        await ask(provider(respond(body, status, headers), uri), HELLO, streaming)
    assert type(caught.value) is kind
    assert body.is_closed


@pytest.mark.virtual_time
async def test_the_reply_is_there_when_the_server_said_so() -> None:
    """It may keep the connection open after [DONE]."""
    body = OddBody([EVENTS], hangs=True)
    reply = await ask(provider(respond(body, headers=SSE), OPENAI), HELLO, True)
    assert reply.message.text == "hi"
    assert body.hung < 5
    assert body.is_closed


@pytest.mark.parametrize("uri", [OPENAI, CLAUDE])
@pytest.mark.parametrize("has_key", [False, True])
async def test_a_key_wins_over_the_password_of_an_address(
    uri: str, has_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them goes out, and the address without either."""
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if uri == OPENAI:
            return httpx2.Response(200, content=completion(answer("hi"), "m", 1), headers=JSON)
        return httpx2.Response(200, json=message_of(answer("hi"), {"model": "m"}, 1))

    model, _, key = uri.partition("?")
    query = f"baseURL=http://user:secret-word@h/v1{f'&{key}' if has_key else ''}"
    await ask(provider(httpx2.MockTransport(handle), f"{model}?{query}"), HELLO, False)
    basic = f"Basic {b64encode(b'user:secret-word').decode()}"
    assert (seen[0].headers.get("authorization") == basic) is not has_key
    assert (key.partition("=")[2] in str(seen[0].headers.raw)) is has_key
    assert (seen[0].url.host, seen[0].url.userinfo) == ("h", b"")
