"""Getting what anybody may have asked for: guarded addresses, redirects, headers, one deadline."""

from __future__ import annotations

import asyncio

import pytest

from ...content.address_guard import AddressGuard
from ...content.http import MAX_REDIRECTS, Http
from ...errors import FetchError
from .fake_web import PUBLIC, FakeWeb, client, redirect, reply

PAGE = "http://site.example.com/"


async def test_the_address_connected_to_is_the_address_checked() -> None:
    """The name is looked up once, so it cannot mean another address a moment later."""
    web = FakeWeb({"https://site.example.com:8443/x?y=1": reply("hello")})
    web.addresses["site.example.com"] = ["203.0.114.9"]
    await client(web).get_public("https://site.example.com:8443/x?y=1")
    assert web.looked_up == ["site.example.com"]
    assert web.connected == ["203.0.114.9"]
    assert web.requests[0].headers["host"] == "site.example.com:8443"
    assert web.requests[0].extensions["sni_hostname"] == "site.example.com"


async def test_a_dot_after_a_name_is_not_certified() -> None:
    """Certificates name a host without it; the server may tell the two apart."""
    web = FakeWeb({"https://site.example.com./": reply("hello")})
    await client(web).get_public("https://site.example.com./")
    assert web.requests[0].headers["host"] == "site.example.com."
    assert web.requests[0].extensions["sni_hostname"] == "site.example.com"


async def test_no_connection_is_kept_for_another_host_at_the_same_address() -> None:
    """It was certified for the first one only."""
    web = FakeWeb({PAGE: reply("hello")})
    await client(web).get_public(PAGE)
    assert web.requests[0].headers["connection"] == "close"


async def test_the_next_address_is_tried_when_one_takes_no_connections() -> None:
    """Many hosts have an IPv6 address that a network cannot reach."""
    web = FakeWeb({PAGE: reply("hello")})
    web.addresses["site.example.com"] = ["2606:4700::1", PUBLIC]
    web.down = {"2606:4700::1"}
    assert (await client(web).get_public(PAGE)).body == b"hello"
    assert web.connected == ["2606:4700::1", PUBLIC]


async def test_an_unreachable_host_is_one_line() -> None:
    """The error names the address and why, after all addresses were tried."""
    web = FakeWeb()
    web.addresses["site.example.com"] = [PUBLIC, "93.184.215.15"]
    web.down = {PUBLIC, "93.184.215.15"}
    with pytest.raises(FetchError, match=r"^http://site\.example\.com/: .*refused$"):
        await client(web).get_public(PAGE)
    assert len(web.connected) == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(status: int) -> None:
    """The reply's address is the last one; a relative one is resolved against the page's."""
    web = FakeWeb(
        {"http://site.example.com/a/b": redirect("../c", status), f"{PAGE}c": reply("there")}
    )
    found = await client(web).get_public("http://site.example.com/a/b#part")
    assert (found.url, found.body) == (f"{PAGE}c", b"there")


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1/", "http://2130706433/", "//[::ffff:127.0.0.1]/", "http://0x7f.1:8080"),
        *("http://169.254.169.254/latest/meta-data", "http://inside.example.com/"),
    ],
)
async def test_each_redirect_is_guarded(location: str) -> None:
    """A public page that leads inside is stopped there, before any connection."""
    web = FakeWeb({PAGE: redirect(location)})
    web.addresses["inside.example.com"] = ["192.168.1.1"]
    with pytest.raises(FetchError, match="not on the public internet"):
        await client(web).get_public(PAGE)
    assert web.connected == [PUBLIC]


@pytest.mark.parametrize(
    "location", ["ftp://x.example.com/", "file:///etc/passwd", "gopher://x:70"]
)
async def test_a_redirect_to_another_protocol_is_refused(location: str) -> None:
    """Only http and https are spoken."""
    with pytest.raises(FetchError, match="only http:// and https://"):
        await client(FakeWeb({PAGE: redirect(location)})).get_public(PAGE)


async def test_a_redirect_that_is_no_address_is_refused() -> None:
    """The error says where it stood and what it was."""
    with pytest.raises(FetchError, match=r"^'http://\[::1' is no URL|^http://site"):
        await client(FakeWeb({PAGE: redirect("http://[::1")})).get_public(PAGE)


async def test_redirects_in_a_circle_end() -> None:
    """After the first request, as many as allowed are followed and no more."""
    web = FakeWeb({PAGE: redirect("/")})
    with pytest.raises(FetchError, match=f"more than {MAX_REDIRECTS} redirects from {PAGE}"):
        await client(web).get_public(PAGE)
    assert len(web.requests) == MAX_REDIRECTS + 1


async def test_a_redirect_without_an_address_is_a_reply() -> None:
    """There is nowhere to go."""
    web = FakeWeb({PAGE: reply("choose", status=302)})
    assert (await client(web).get_public(PAGE)).status == 302


async def test_headers_stay_with_the_origin_they_were_given_for() -> None:
    """A redirect to another host, port or scheme gets the client's own headers only."""
    web = FakeWeb(
        {
            PAGE: redirect("/moved"),
            f"{PAGE}moved": redirect("http://site.example.com:81/"),
            "http://site.example.com:81/": redirect("http://other.example.com/"),
            "http://other.example.com/": reply("hello"),
        }
    )
    await client(web).get_public(PAGE, {"Authorization": "Bearer abcdefgh"})
    sent = [request.headers.get("authorization") for request in web.requests]
    assert sent == ["Bearer abcdefgh", "Bearer abcdefgh", None, None]
    assert {request.headers["user-agent"] for request in web.requests} == {"tests"}


@pytest.mark.usefixtures("loopback")
async def test_a_name_is_reached_over_real_sockets() -> None:
    """The connection goes to the address that was checked, the request names the host."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        http = Http(guard=AddressGuard(allow_private=True, resolve=lookup))
        found = await http.get_public(f"http://intranet.example:{port}/")
        await http.aclose()
    assert found.body == b"hello"
    assert f"host: intranet.example:{port}".encode() in heads[0].lower()


@pytest.mark.virtual_time
async def test_the_deadline_covers_looking_up_a_name() -> None:
    """A name server that does not answer is no reason to wait longer."""

    async def hanging(host: str, port: int) -> list[str]:
        await asyncio.sleep(1_000)
        return [PUBLIC]

    http = Http(timeout=3, guard=AddressGuard(resolve=hanging), transport=FakeWeb().transport)
    with pytest.raises(FetchError, match="no complete answer within 3 s"):
        await http.get_public(PAGE)


@pytest.mark.virtual_time
async def test_redirects_share_the_deadline() -> None:
    """It does not start anew with each of them."""
    web = FakeWeb({PAGE: redirect("/"), f"{PAGE}next": reply("late")})

    async def slow(host: str, port: int) -> list[str]:
        await asyncio.sleep(2)
        return [PUBLIC]

    http = Http(timeout=5, guard=AddressGuard(resolve=slow), transport=web.transport)
    with pytest.raises(FetchError, match="no complete answer within 5 s"):
        await http.get_public(PAGE)
    assert len(web.requests) == 2
