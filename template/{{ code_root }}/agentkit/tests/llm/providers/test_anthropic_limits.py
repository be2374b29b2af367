"""What the Messages adapter takes of a server, and what it gives away."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import httpx2
import pytest

from ....errors import BadRequest, LlmError, MalformedReply
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...odd_bodies import OddBody, bomb, endless, respond

HELLO = [Message.user("hello")]
GZIP = {"content-encoding": "gzip"}
URI = "anthropic/claude-sonnet-5-5?apiKey=sk-ant-test-0123456789"
TEXT = {"type": "text", "text": "hi"}
MESSAGE: dict[str, Any] = {"type": "message", "content": [TEXT], "stop_reason": "end_turn"}
WHOLE = json.dumps(MESSAGE).encode()
EVENTS = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"type": "message_start", "message": {**MESSAGE, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "message_stop"},
    )
)


def provider(transport: httpx2.AsyncBaseTransport, uri: str = URI) -> Provider:
    return create_provider(ModelURI.parse(uri), HttpClients(transport))


async def ask(made: Provider, streaming: bool) -> Reply:
    """Return the reply to a small request."""
    if not streaming:
        return await made.complete(Request(HELLO))
    reply = [event async for event in made.stream(Request(HELLO))][-1]
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize(
    ("body", "status", "headers", "kind"),
    [
        (endless(b"{"), 200, {}, MalformedReply),
        (endless(b"data: {"), 200, {}, MalformedReply),
        (bomb(40), 200, GZIP, MalformedReply),
        (endless(b"{"), 400, {}, BadRequest),
        (bomb(40), 400, GZIP, BadRequest),
        (OddBody([b"<html>Login</html>"]), 200, {"content-type": "text/html"}, MalformedReply),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_what_is_no_reply_is_left_and_told(
    body: OddBody, status: int, headers: dict[str, str], kind: type, streaming: bool
) -> None:
    """Bodies without an end, and pages for people; the SDK would read them all."""
    with pytest.raises(LlmError, match=r"longer than|answered 400|sent no JSON") as caught:
        await ask(provider(respond(body, status, headers)), streaming)
    assert type(caught.value) is kind
    assert body.is_closed


@pytest.mark.virtual_time
async def test_the_reply_is_there_when_the_server_said_so() -> None:
    """It may keep the connection open after its last event."""
    body = OddBody([EVENTS], hangs=True)
    reply = await ask(provider(respond(body, headers={"content-type": "text/event-stream"})), True)
    assert reply.message.text == "hi"
    assert body.hung < 5
    assert body.is_closed


async def test_a_reply_that_is_no_stream_is_understood() -> None:
    """Some servers know none; its text comes as one delta."""
    made = provider(respond(OddBody([WHOLE])))
    delta, reply = [event async for event in made.stream(Request(HELLO))]
    assert delta == TextDelta("hi")
    assert isinstance(reply, Reply)


async def test_a_byte_order_mark_does_no_harm() -> None:
    """Neither before a stream nor before JSON."""
    for streaming, content in ((True, EVENTS), (False, WHOLE)):
        kind = "text/event-stream" if streaming else "application/json"
        body = OddBody([b"\xef\xbb\xbf" + content])
        made = provider(respond(body, headers={"content-type": kind}))
        assert (await ask(made, streaming)).message.text == "hi"


@pytest.mark.parametrize(
    ("query", "header", "value"),
    [
        ("", "authorization", f"Basic {b64encode(b'user:secret-word').decode()}"),
        ("apiKey=sk-test-0123456789", "authorization", "Bearer sk-test-0123456789"),
    ],
)
async def test_a_key_wins_over_the_password_of_an_address(
    query: str, header: str, value: str
) -> None:
    """One of them goes out, and the address without either."""
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, content=WHOLE, headers={"content-type": "application/json"})

    uri = f"{URI.partition('?')[0]}?baseURL=http://user:secret-word@h/v1&{query}"
    await ask(provider(httpx2.MockTransport(handle), uri.rstrip("&")), False)
    assert seen[0].headers[header] == value
    assert not (query and "Basic" in str(seen[0].headers))
    assert (seen[0].url.host, seen[0].url.userinfo) == ("h", b"")


async def test_ids_that_come_twice_are_made_unique() -> None:
    """A result is paired by its call's id."""
    call = {"type": "tool_use", "name": "f", "input": {}}
    content = [{**call, "id": given} for given in ("x_2", "x", "x")]
    body = OddBody([json.dumps({**MESSAGE, "content": content}).encode()])
    reply = await ask(provider(respond(body)), False)
    assert [made.id for made in reply.message.tool_calls] == ["x_2", "x", "x_3"]
    body = OddBody([json.dumps({**MESSAGE, "content": content * 43}).encode()])
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        await ask(provider(respond(body)), False)
