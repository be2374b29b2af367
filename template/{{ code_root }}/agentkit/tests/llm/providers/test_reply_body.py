"""Whatever a server sends, memory holds it, and the event loop goes on."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from ....errors import MalformedReply
from ....llm.providers import reply_body
from ....llm.providers.failures import LONGEST_ERROR
from ....llm.providers.reply_body import LONGEST_REPLY, ReplyBody, event_json, json_of
from ...odd_bodies import MEGABYTE, OddBody, bomb, endless

GZIP = {"content-encoding": "gzip"}
SSE = {"content-type": "text/event-stream"}


def body_of(stream: httpx2.AsyncByteStream, headers: dict[str, str] | None = None) -> ReplyBody:
    """Return the body of a response."""
    return ReplyBody(httpx2.Response(200, headers=headers, stream=stream), "openai")


async def test_a_body_is_read_whole() -> None:
    """In whatever pieces it comes, and its response is closed with it."""
    stream = OddBody([b'{"a"', b":1}"])
    body = body_of(stream)
    assert await body.read() == b'{"a":1}'
    await body.aclose()
    assert stream.is_closed


@pytest.mark.parametrize(("stream", "headers"), [(endless(b"{"), {}), (bomb(40), GZIP)])
async def test_a_body_without_an_end_is_given_up(stream: OddBody, headers: Any) -> None:
    """What counts is what it decodes to."""
    with pytest.raises(MalformedReply, match="longer than 32 MB"):
        await body_of(stream, headers).read()
    assert stream.taken <= LONGEST_REPLY + 1


@pytest.mark.parametrize(("stream", "headers"), [(endless(b"{"), {}), (bomb(40), GZIP)])
async def test_of_an_error_only_the_start_is_read(stream: OddBody, headers: Any) -> None:
    """The rest of it is left where it is."""
    assert len(await body_of(stream, headers).read_start()) == LONGEST_ERROR
    assert stream.taken <= 2 * 2**20


async def test_a_stream_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose events are short."""
    monkeypatch.setattr(reply_body, "LONGEST_STREAM", 2**20)
    events = body_of(OddBody([b"data: {}\n\n" * 1000] * 1000)).events()
    with pytest.raises(MalformedReply, match="longer than 1 MB"):
        [event async for event in events]


@pytest.mark.parametrize("start", [b"data: {", b"\n", b": comment "])
async def test_a_line_without_an_end_is_given_up(start: bytes) -> None:
    """Whoever reads it, our own reader or an SDK."""
    with pytest.raises(MalformedReply, match="longer than 8 MB"):
        [event async for event in body_of(endless(start), SSE).events()]
    with pytest.raises(MalformedReply, match="longer than 8 MB"):
        [chunk async for chunk in body_of(endless(start + b"x"), SSE)]


async def test_a_stream_of_many_lines_is_not_too_long_for_an_sdk() -> None:
    """Only a line of it can be, or a body that is no stream."""
    line = b"data: " + MEGABYTE + b"\n\n"
    chunks = [chunk async for chunk in body_of(OddBody([line] * 40), SSE)]
    assert b"".join(chunks) == line * 40
    with pytest.raises(MalformedReply, match="longer than 32 MB"):
        [chunk async for chunk in body_of(OddBody([b"{" + line] * 40))]


@pytest.mark.parametrize(
    ("start", "media_type", "expected"),
    [
        (b"data: {}", "text/event-stream", True),
        (b"data: {}", "application/json", True),
        (b"data: {}", None, True),
        (b": comment", None, True),
        (b"event: x", "text/plain", True),
        (b"anything", "Text/Event-Stream; charset=utf-8", True),
        (b"", None, True),
        (b'{"a":1}', "application/json", False),
        (b'{"a":1}', "Application/JSON; charset=utf-8", False),
        (b'{"a":1}', "application/problem+json", False),
        (b'{"a":1}', "text/event-stream", False),
        (b" \r\n [1]", None, False),
        (b"<!doctype html>", "text/html", False),
        (b"<html>", "text/event-stream", False),
        (b"Service Unavailable", "text/plain", False),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
async def test_a_stream_is_known_by_how_it_begins(
    start: bytes, media_type: str | None, expected: bool, size: int
) -> None:
    """Types are missing or wrong too often; nothing of the body is lost by looking."""
    pieces = [start[at : at + size] for at in range(0, len(start), size)]
    headers = {"content-type": media_type} if media_type else None
    body = body_of(OddBody(pieces), headers)
    assert await body.is_stream() is expected
    assert await body.read() == start.lstrip()


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_a_byte_order_mark_takes_nothing_with_it(size: int) -> None:
    """Neither the first event nor the beginning of the JSON."""
    stream = b"\xef\xbb\xbfdata: a\n\ndata: b\n\n"
    body = body_of(OddBody([stream[at : at + size] for at in range(0, len(stream), size)]))
    assert await body.is_stream()
    assert [event async for event in body.events()] == [b"a", b"b"]
    assert json_of(b'\xef\xbb\xbf{"a":1}', "openai") == {"a": 1}


@pytest.mark.virtual_time
async def test_what_does_not_come_at_once_is_not_waited_for() -> None:
    """The end of a body is taken if it is there; a server that sends more is left."""
    for stream, taken in ((OddBody([b"a"], hangs=True), 1), (endless(b"a"), 2**20 + 1)):
        body = body_of(stream)
        assert await body.is_stream() is False
        await body.settle()
        await body.aclose()
        assert (stream.taken, stream.is_closed) == (taken, True)


@pytest.mark.parametrize("body", [b"", b"null", b"{", b"\xff", b"<html>"])
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    """Whole or an event, with nothing behind the error."""
    for read, says in ((json_of, "sent no JSON"), (event_json, "streamed broken JSON")):
        with pytest.raises(MalformedReply, match=says) as caught:
            read(body, "openai")
        assert caught.value.__context__ is None


async def test_an_sdk_gets_what_a_body_decodes_to() -> None:
    """Such that it does not decode it once more."""
    response = await body_of(bomb(1), GZIP).as_response()
    assert json.loads((await response.aread()) + b"}") == {}


async def test_an_sdk_gets_no_page() -> None:
    """The page of a proxy is told as what it is, and closed."""
    stream = OddBody([b"<html>Login</html>"])
    with pytest.raises(MalformedReply, match="sent no JSON: '<html>Login"):
        await body_of(stream).as_response()
    assert stream.is_closed
