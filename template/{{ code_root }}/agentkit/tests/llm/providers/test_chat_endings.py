"""Where a reply of Chat Completions ends, and what comes in its place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from ....errors import BadRequest, MalformedReply
from ....llm.events import TextDelta
from ....llm.model_uri import ModelURI
from ....llm.provider import Provider, Request, create_provider
from ....messages import Message, Reply
from ....transport import HttpClients
from ...chat_replies import answer, completion
from ...conftest import MODEL
from ...odd_bodies import OddBody, bomb, endless, respond

HELLO = [Message.user("hello")]
HI = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
DONE = b"data: [DONE]\n\n"
GZIP = {"content-encoding": "gzip"}


def provider(transport: httpx2.AsyncBaseTransport) -> Provider:
    return create_provider(ModelURI.parse(MODEL), HttpClients(transport))


async def listen(made: Provider) -> list[object]:
    """Return all events of a streamed reply."""
    return [event async for event in made.stream(Request(HELLO))]


@pytest.mark.virtual_time
@pytest.mark.parametrize("chunks", [[HI, DONE], [HI + DONE], [HI + DONE + HI]])
async def test_the_reply_is_there_when_the_server_said_so(chunks: list[bytes]) -> None:
    """It may keep the connection open, or go on: nobody listens."""
    body = OddBody(chunks, hangs=True)
    events = await listen(provider(respond(body)))
    assert isinstance(events[-1], Reply)
    assert events[-1].message.text == "hi"
    assert body.hung < 5
    assert body.is_closed


@asynccontextmanager
async def server(ending: bytes) -> AsyncIterator[Callable[[], tuple[str, int]]]:
    """Stream a reply to every request, chunked; yields the address and the connections so far."""
    connections = 0
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                events = HI + DONE
                writer.write(head + b"%x\r\n%b\r\n" % (len(events), events) + ending)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**20)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield lambda: (f"http://127.0.0.1:{port}", connections)


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(("ending", "connections"), [(b"0\r\n\r\n", 1), (b"", 2)])
async def test_a_connection_is_used_again_if_its_reply_is_complete(
    ending: bytes, connections: int
) -> None:
    """One whose body has no end yet would give its rest to the next request."""
    clients = HttpClients()
    async with server(ending) as state:
        uri = ModelURI.parse(f"vllm/m?baseURL={state()[0]}")
        for _ in range(2):
            await listen(create_provider(uri, clients))
        assert state()[1] == connections
        await clients.aclose()


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "Application/JSON; charset=utf-8", "application/problem+json", None],
)
async def test_a_reply_that_is_no_stream_is_understood(media_type: str | None) -> None:
    """Under whatever type it comes; its text comes as one delta."""
    body = OddBody([completion(answer("Hello"), "m", 1)])
    headers = {"content-type": media_type} if media_type else None
    events = await listen(provider(respond(body, headers=headers)))
    assert events[0] == TextDelta("Hello")
    assert isinstance(events[1], Reply)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_page_is_told_as_what_it_is(streaming: bool) -> None:
    """A proxy's login page is no empty answer."""
    body = OddBody([b"<!doctype html><title>Login</title>"])
    made = provider(respond(body, headers={"content-type": "text/html"}))
    with pytest.raises(MalformedReply, match="sent no JSON: '<!doctype html><title>Login"):
        await (listen(made) if streaming else made.complete(Request(HELLO)))


async def test_a_byte_order_mark_does_no_harm() -> None:
    """Neither before a stream nor before JSON."""
    mark = b"\xef\xbb\xbf"
    events = await listen(provider(respond(OddBody([mark + HI + DONE]))))
    assert events[0] == TextDelta("hi")
    body = OddBody([mark + completion(answer("hi"), "m", 1)])
    assert (await provider(respond(body)).complete(Request(HELLO))).message.text == "hi"


@pytest.mark.parametrize(
    ("body", "status", "headers", "kind"),
    [
        (endless(b"{"), 200, {}, MalformedReply),
        (endless(b"data: {"), 200, {}, MalformedReply),
        (bomb(40), 200, GZIP, MalformedReply),
        (endless(b"{"), 400, {}, BadRequest),
        (bomb(40), 400, GZIP, BadRequest),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_a_body_without_an_end_is_left(
    body: OddBody, status: int, headers: dict[str, str], kind: type, streaming: bool
) -> None:
    """Whatever kind of body it is."""
    made = provider(respond(body, status, headers))
    with pytest.raises(kind):
        await (listen(made) if streaming else made.complete(Request(HELLO)))
    assert body.is_closed


@pytest.mark.parametrize("streaming", [False, True])
async def test_more_calls_than_anybody_wants_are_malformed(streaming: bool) -> None:
    """Each of them would be run."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"index": n, "id": f"c{n}", "function": function} for n in range(129)]
    choice = {"delta" if streaming else "message": {"tool_calls": calls}}
    whole = json.dumps({"choices": [choice]}).encode()
    made = provider(respond(OddBody([b"data: " + whole + b"\n\n" if streaming else whole])))
    with pytest.raises(MalformedReply, match="more than 128 calls"):
        await (listen(made) if streaming else made.complete(Request(HELLO)))
