"""Properties of fetching: no spelling of a private address is connected to, no page breaks it."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpx2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentkit.content.address_guard import AddressGuard, is_public
from agentkit.content.charset import decode
from agentkit.content.extract import extract_html
from agentkit.content.feed import feed_document
from agentkit.content.http import Http, HttpReply
from agentkit.content.local_fetcher import read_document
from agentkit.errors import FetchError

PRIVATE = [
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3"),
    )
]
PRIVATE_6 = [
    ip_network(network)
    for network in ("::/96", "64:ff9b:1::/48", "100::/64", "fc00::/7", "fe80::/10", "ff00::/8")
]


def addresses_in(networks: list[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for addresses in any of these networks."""
    return st.sampled_from(networks).flatmap(
        lambda network: st.integers(
            int(network.network_address), int(network.broadcast_address)
        ).map(type(network.network_address))
    )


def number(value: int, base: str) -> str:
    """Write a number as C libraries read it: decimal, octal, or hexadecimal in either case."""
    forms = {"d": str(value), "o": f"0{value:o}", "x": f"0x{value:x}", "X": f"0X{value:X}"}
    return forms[base]


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """Return a private IPv4 address as a host in a URL, in one of its many spellings."""
    address = draw(addresses_in(PRIVATE))
    value = int(address)
    parts = draw(st.integers(1, 4))
    octets = [value >> shift & 255 for shift in (24, 16, 8, 0)][: parts - 1]
    rest = value & (1 << 8 * (5 - parts)) - 1
    dotted = ".".join(number(part, draw(st.sampled_from("doxX"))) for part in [*octets, rest])
    high, low = value >> 16, value & 0xFFFF
    return draw(
        st.sampled_from(
            [
                dotted,
                f"{dotted}.",
                f"[::ffff:{address}]",
                f"[::ffff:{high:x}:{low:x}]",
                f"[::{address}]",
                f"[64:ff9b::{high:x}:{low:X}]",
                f"[2002:{high:x}:{low:x}::1]",
                f"[0:0:0:0:0:ffff:{address}]",
            ]
        )
    )


PIECES = st.sampled_from(
    [
        *(
            "http://",
            "HTTPS://",
            "//",
            "/",
            "\\",
            "@",
            ":",
            ":80",
            "user:pw@",
            "#",
            "?",
            "%00",
            "%2e",
        ),
        *("127.0.0.1", "localhost", "0", "[::1]", "[", "]", "..", ".", "0x7f", "017", "a.example"),
        *("\t", "\n", " ", "\u3002", "\uff11", "\u2460", "\u00ad", "é", "xn--", "-", "_", "%", "&"),
    ]
)
urls = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: "http://" + "".join(pieces)),
)


class Wire:
    """Notes what was connected to; names have a private and a public address by turns."""

    def __init__(self, location: str | None = None) -> None:
        self.connected: list[str] = []
        self.looked_up: list[str] = []
        self._location = location
        self.transport = httpx2.MockTransport(self._handle)

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return a public address first, and a private one whenever it is asked again."""
        self.looked_up.append(host)
        return ["8.8.8.8"] if self.looked_up.count(host) == 1 else ["10.0.0.1"]

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        self.connected.append(request.url.host)
        if self._location is None:
            return httpx2.Response(200, content=b"")
        location, self._location = self._location, None
        return httpx2.Response(302, headers=[(b"location", location.encode())])


def fetch(wire: Wire, url: str) -> HttpReply | FetchError:
    """Get a URL over this wire; anything but a reply or a FetchError is a fault."""
    http = Http(guard=AddressGuard(resolve=wire.resolve), transport=wire.transport)
    result: HttpReply | FetchError
    try:
        result = asyncio.run(http.get_public(url))
    except FetchError as error:
        result = error
    assert isinstance(result, HttpReply) or "\n" not in str(result)
    return result


@settings(max_examples=400, deadline=None)
@given(spellings(), st.sampled_from(["", ":8080", ":80"]), st.sampled_from(["http", "https"]))
def test_no_spelling_of_a_private_address_is_connected_to(
    host: str, port: str, scheme: str
) -> None:
    """Neither at first nor after a redirect, and nothing is looked up for it."""
    wire = Wire()
    assert isinstance(fetch(wire, f"{scheme}://{host}{port}/"), FetchError)
    assert (wire.connected, wire.looked_up) == ([], [])
    wire = Wire(f"{scheme}://{host}{port}/")
    assert isinstance(fetch(wire, "http://public.example/"), FetchError)
    assert wire.connected == ["8.8.8.8"]


@settings(max_examples=300, deadline=None)
@given(addresses_in(PRIVATE_6))
def test_no_private_ipv6_address_is_connected_to(address: IPv6Address) -> None:
    """An address that holds a public IPv4 one is that address; it is not private."""
    wire = Wire()
    reply = fetch(wire, f"http://[{address}]/")
    held = IPv4Address(int(address) & 0xFFFFFFFF)
    if not (int(address) >> 32 == 0 and is_public(held)):
        assert isinstance(reply, FetchError)
        assert wire.connected == []


@settings(max_examples=600, deadline=None)
@given(urls)
@example("http://127.0.0.1\\@public.example/")
@example("http://public.example\\@127.0.0.1/")
@example("http://[::ffff:7f00:1%25public.example]/")
@example("A:////[")
def test_any_text_as_a_url_reaches_public_addresses_only(url: str) -> None:
    """Or it is refused in one line; as a redirect as well."""
    for wire, first in ((Wire(), url), (Wire(url), "http://first.example/")):
        fetch(wire, first)
        assert all(is_public(ip_address(address)) for address in wire.connected)


MARKUP = st.sampled_from(
    [
        *("<p>", "</p>", "<div class='nav'>", "</div>", "<a href='x'>", "</a>", "<table><tr><td>"),
        *("</table>", "<li>", "<ul>", "</ul>", "<script>", "</script>", "<!--", "-->", "<title>"),
        *("<main>", "<article>", "<pre>", "</pre>", "<br>", "<p hidden>", "<svg/>", "<", ">", "&"),
        *("&#0;", "&#xd800;", "<meta name=author content=x>", "<base href='http://['>", "\x00"),
        *('<script type=\'application/ld+json\'>{"@type":"Article"', "\n", "word " * 30, "é😀"),
        *("<rss>", "<item>", "<link>", "<![CDATA[", "]]>", "<a href='//['>", "<time>", "\ud800"),
    ]
)
pages = st.lists(MARKUP | st.text(max_size=8), max_size=40).map("".join)


@settings(max_examples=500, deadline=None)
@given(pages)
def test_any_page_is_read(page: str) -> None:
    """Whatever is in it: no error, no scripts, and only absolute links."""
    for document in (extract_html(page, "http://a.example/b"), feed_document(page, "http://a/")):
        assert document.text_length == len(document.text)
        assert all(link.url.startswith(("http://", "https://")) for link in document.links)


@settings(max_examples=400, deadline=None)
@given(
    st.binary(max_size=300) | pages.map(lambda page: page.encode("utf-8", "surrogatepass")),
    st.sampled_from(["", "text/html", "text/html; charset=utf-16", "application/json", "text/xml"]),
)
def test_any_body_is_read_or_refused(body: bytes, content_type: str) -> None:
    """What comes out can be sent and stored: no half of a surrogate pair is in it."""
    reply = HttpReply("http://a.example/", 200, {"content-type": content_type}, body)
    try:
        document = read_document(reply)
    except FetchError:
        return
    document.text.encode()
    for value in (document.title, document.author, document.description, document.note):
        (value or "").encode()


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")),
    st.sampled_from(["utf-8", "utf-16", "utf-32", "gb18030"]),
)
def test_a_declared_charset_reads_back(text: str, encoding: str) -> None:
    """Any text in any charset that holds it, with a byte order mark or without."""
    body = text.encode(encoding)
    assert decode(body, f"text/plain; charset={encoding}", is_markup=False) == text
