"""What every SDK's adapter takes of a server, and gives away: tests that each of them imports.

The module that imports them says with the fixture `api` what its provider sends.
"""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

import httpx2
import pytest

from ....errors import BadRequest, LlmError, MalformedReply
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...odd_bodies import OddBody, bomb, endless, respond

HELLO = [Message.user("hello")]
GZIP = {"content-encoding": "gzip"}


class Api(NamedTuple):
    """A model URI without parameters, its key, the header of that, and a reply that says "hi"."""

    model: str
    key: str
    header: tuple[str, str]
    whole: bytes
    events: bytes

    @property
    def uri(self) -> str:
        return f"{self.model}?apiKey={self.key}"


def provider(transport: httpx2.AsyncBaseTransport, uri: str) -> Provider:
    """Return the provider of a URI over a transport."""
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
    api: Api, body: OddBody, status: int, headers: dict[str, str], kind: type, streaming: bool
) -> None:
    """Bodies without an end, and pages for people; the SDK would read them all."""
    with pytest.raises(LlmError, match=r"longer than|answered 400|sent no JSON") as caught:
        await ask(provider(respond(body, status, headers), api.uri), streaming)
    assert type(caught.value) is kind
    assert body.is_closed


@pytest.mark.virtual_time
async def test_the_reply_is_there_when_the_server_said_so(api: Api) -> None:
    """It may keep the connection open after its last event, or after a reason to end."""
    body = OddBody([api.events], hangs=True)
    server = respond(body, headers={"content-type": "text/event-stream"})
    reply = await ask(provider(server, api.uri), True)
    assert reply.message.text == "hi"
    assert body.hung < 5
    assert body.is_closed


async def test_a_byte_order_mark_does_no_harm(api: Api) -> None:
    """Neither before a stream nor before JSON."""
    for streaming, content in ((True, api.events), (False, api.whole)):
        kind = "text/event-stream" if streaming else "application/json"
        body = OddBody([b"\xef\xbb\xbf" + content])
        made = provider(respond(body, headers={"content-type": kind}), api.uri)
        assert (await ask(made, streaming)).message.text == "hi"


@pytest.mark.parametrize("has_key", [False, True])
async def test_a_key_wins_over_the_password_of_an_address(api: Api, has_key: bool) -> None:
    """One of them goes out, and the address without either."""
    seen: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        kind = {"content-type": "application/json"}
        return httpx2.Response(200, content=api.whole, headers=kind)

    key = f"&apiKey={api.key}" if has_key else ""
    uri = f"{api.model}?baseURL=http://user:secret-word@h/v1{key}"
    await ask(provider(httpx2.MockTransport(handle), uri), False)
    basic = ("authorization", f"Basic {b64encode(b'user:secret-word').decode()}")
    header, value = api.header if has_key else basic
    assert seen[0].headers[header] == value
    assert not (has_key and "Basic" in str(seen[0].headers))
    assert (seen[0].url.host, seen[0].url.userinfo) == ("h", b"")
