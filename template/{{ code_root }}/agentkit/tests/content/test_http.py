"""HTTP for content: the deadline, the cap on a body, what cannot be fetched, and asking an API."""

from __future__ import annotations

import asyncio
import traceback
import zlib
from collections.abc import AsyncIterator

import httpx2
import pytest

from ...content.http import Http, HttpReply, parse_url
from ...errors import FetchError
from .fake_web import PUBLIC, Body, FakeWeb, client, redirect, reply, zipped

PAGE = "http://site.example.com/"


async def test_a_page_comes_with_its_address_status_headers_and_body() -> None:
    """Header names are in lower case, the media type has no parameters."""
    web = FakeWeb({PAGE: reply("<p>hello", "Text/HTML; charset=utf-8")})
    found = await client(web).get_public(PAGE)
    assert (found.url, found.status, found.body, found.truncated) == (PAGE, 200, b"<p>hello", False)
    assert found.headers["content-type"] == "Text/HTML; charset=utf-8"
    assert found.content_type == "text/html"


async def test_check_sees_the_head_and_may_leave_the_body_unread() -> None:
    """What it raises comes out as it is."""
    body = Body(endless(b"x"))
    web = FakeWeb({PAGE: httpx2.Response(200, headers={"content-type": "video/mp4"}, stream=body)})

    def check(head: HttpReply) -> None:
        assert (head.status, head.content_type, head.body) == (200, "video/mp4", b"")
        raise FetchError("a film")

    with pytest.raises(FetchError, match=r"^a film$"):
        await client(web).get_public(PAGE, check=check)
    assert (body.sent, body.closed) == (0, True)


async def endless(chunk: bytes) -> AsyncIterator[bytes]:
    """Yield a chunk for ever."""
    while True:
        yield chunk
        await asyncio.sleep(0)


async def test_an_endless_body_is_cut_and_closed() -> None:
    """Reading stops at the limit, whatever length was announced."""
    body = Body(endless(b"x" * 1_000))
    response = httpx2.Response(200, headers={"content-length": "9000000000"}, stream=body)
    found = await client(FakeWeb({PAGE: response}), max_bytes=10_500).get_public(PAGE)
    assert (len(found.body), found.truncated) == (10_500, True)
    assert (body.sent, body.closed) == (11, True)


async def test_the_limit_counts_what_a_body_unpacks_to() -> None:
    """A small body that unpacks to a huge one is not unpacked beyond the limit."""
    bomb = zlib.compress(b"\0" * 50_000_000)
    response = reply(bomb, headers={"content-encoding": "deflate"})
    found = await client(FakeWeb({PAGE: response}), max_bytes=5_000).get_public(PAGE)
    assert (len(found.body), found.truncated) == (5_000, True)


async def test_a_body_of_just_the_limit_is_whole() -> None:
    """Nothing was cut."""
    found = await client(FakeWeb({PAGE: reply("x" * 500)}), max_bytes=500).get_public(PAGE)
    assert (len(found.body), found.truncated) == (500, False)


async def test_a_compressed_body_arrives_unpacked() -> None:
    """Only encodings that can be unpacked step by step are asked for."""
    web = FakeWeb({PAGE: zipped("hello")})
    found = await client(web).get_public(PAGE, {"Accept-Encoding": "br"})
    assert found.body == b"hello"
    assert web.requests[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.virtual_time
async def test_one_deadline_covers_all_of_a_fetch() -> None:
    """A body that trickles is given up when the time is over, however little is missing."""

    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(1)

    body = Body(trickle())
    web = FakeWeb({PAGE: httpx2.Response(200, stream=body)})
    with pytest.raises(FetchError, match=r"no complete answer within 12 s from http://site"):
        await client(web).get_public(PAGE)
    assert (body.sent, body.closed) == (12, True)


async def test_cancellation_is_no_fetch_error() -> None:
    """It goes through, and the response is closed."""
    begun = asyncio.Event()

    async def hanging() -> AsyncIterator[bytes]:
        yield b"half"
        begun.set()
        await asyncio.Event().wait()

    body = Body(hanging())
    web = FakeWeb({PAGE: httpx2.Response(200, stream=body)})
    task = asyncio.ensure_future(client(web).get_public(PAGE))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert body.closed


@pytest.mark.parametrize(
    "failure",
    [
        httpx2.ReadError("connection reset"),
        httpx2.RemoteProtocolError("peer closed connection without sending complete message body"),
        httpx2.ReadTimeout("read timed out"),
        httpx2.DecodingError("broken"),
    ],
)
async def test_a_connection_that_breaks_is_one_line(failure: Exception) -> None:
    """In the middle of a body as well as before."""

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise failure

    for answer in (failure, httpx2.Response(200, stream=Body(broken()))):
        with pytest.raises(FetchError, match=rf"^http://site\.example\.com/: \w+: {failure}$"):
            await client(FakeWeb({PAGE: answer})).get_public(PAGE)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://example.com/", "only http:// and https:// can be fetched"),
        ("file:///etc/passwd", "only http:// and https:// can be fetched"),
        ("example.com/x", "only http:// and https:// can be fetched"),
        ("", "only http:// and https:// can be fetched"),
        ("http://", "names no host"),
        ("http:///x", "names no host"),
        ("http://a b/", "names no host"),
        ("http://exa%6dple.com/", "names no host"),
        ("http://127.0.0.1%00.example.com/", "names no host"),
        ("http://[::1%25eth0]/", "names no host"),
        ("http://a:99999/", "names no host and port"),
        ("http://a:0/", "names no host and port"),
        ("http://a:-1/", "names no host and port"),
        ("http://a:x/", "is no URL"),
        ("http://[::1/", "is no URL"),
        ("http://a\tb/", "is no URL"),
        ("http://①②⑦.⓪.⓪.①/", "is no URL"),
        ("http://\uff11\uff12\uff17.0.0.1/", "is no URL"),
        ("http://user@127.0.0.1/", "user name or password"),
        ("http://user:secret@example.com/", "user name or password"),
        ("http://example.com\\@127.0.0.1/", "user name or password"),
        ("http://127.0.0.1%2f@example.com/", "user name or password"),
    ],
)
def test_what_cannot_be_fetched_says_why(url: str, problem: str) -> None:
    """In one line, without a password that stood in it."""
    with pytest.raises(FetchError, match=problem) as caught:
        parse_url(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_url_loses_its_fragment_and_the_space_round_it() -> None:
    """A server never sees the one, and a model adds the other."""
    assert str(parse_url(" https://Example.com/a?b=c#d\n")) == "https://example.com/a?b=c"


def test_a_name_in_another_script_is_asked_for_in_ascii() -> None:
    """Its host is what the domain name system knows."""
    assert str(parse_url("http://münchen.example/ä")) == "http://xn--mnchen-3ya.example/%C3%A4"


async def test_a_key_in_a_url_is_in_no_error() -> None:
    """Neither in its text nor in what it was raised from."""
    web = FakeWeb()
    web.down = {PUBLIC}
    key = "abc" * 4
    with pytest.raises(FetchError) as caught:
        await client(web).get_public(f"http://site.example.com/?api_key={key}&x=1")
    assert "api_key=***" in str(caught.value)
    assert key not in "".join(traceback.format_exception(caught.value))


async def test_an_api_is_asked_without_the_guard() -> None:
    """Its address is the developer's choice, and may be next door."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert (request.method, str(request.url)) == ("POST", "http://127.0.0.1:9/v1")
        assert request.headers["x-key"] == "k"
        assert request.content == b"{}"
        return reply(b"[]", "application/json", 429, {"retry-after": "3"})

    http = Http(transport=httpx2.MockTransport(answer))
    found = await http.request("POST", "http://127.0.0.1:9/v1", {"X-Key": "k"}, b"{}")
    assert (found.status, found.body, found.headers["retry-after"]) == (429, b"[]", "3")


async def test_an_api_that_redirects_is_not_followed() -> None:
    """The key would go with it."""
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return redirect("http://elsewhere.example.com/")

    http = Http(transport=httpx2.MockTransport(answer))
    assert (await http.request("GET", "http://api.example.com/")).status == 302
    assert len(requests) == 1
