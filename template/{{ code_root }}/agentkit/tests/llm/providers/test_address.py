"""A user name and a password in an address go out as what they are, whichever way is taken."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Mapping

import pytest

from ....llm.model_uri import ModelURI
from ....llm.provider import Request, create_provider
from ....llm.providers.address import split_userinfo
from ....messages import Message
from ....observability.redact import mask
from ....transport import HttpClients
from ...chat_replies import answer, completion

KEY = "sk-test-0123456789"
BASIC = f"Basic {b64encode(b'user:p@ss word').decode()}"


@pytest.mark.parametrize(
    ("url", "plain", "pair"),
    [
        ("https://h/v1", "https://h/v1", None),
        ("https://user:secret@h:1/v1?a=b@c", "https://h:1/v1?a=b@c", b"user:secret"),
        ("http://user:p%40ss@h", "http://h", b"user:p@ss"),
        ("http://a@b:c@h/", "http://h/", b"a@b:c"),
        ("HTTP://token@h/", "HTTP://h/", b"token:"),
        ("https://h/@x", "https://h/@x", None),
        ("https://h?x=@y", "https://h?x=@y", None),
    ],
)
def test_an_address_is_parted_from_its_credentials(
    url: str, plain: str, pair: bytes | None
) -> None:
    """What looks like them in a path or a query stays where it is."""
    expected = f"Basic {b64encode(pair).decode()}" if pair else None
    assert split_userinfo(url) == (plain, expected)


def test_the_header_is_a_secret_too() -> None:
    """It says what the address said."""
    header = split_userinfo("http://user:secret-word@h")[1] or ""
    assert header.split()[1] not in mask(f"sent {header.split()[1]}")


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "variables", [{}, {"NO_PROXY": "*"}, {"HTTP_PROXY": "http://h:9", "NO_PROXY": "*"}]
)
@pytest.mark.parametrize(("query", "sent"), [("", BASIC), (f"&apiKey={KEY}", f"Bearer {KEY}")])
async def test_a_key_wins_over_a_password(
    variables: Mapping[str, str], query: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without proxy variables: they change the way, never what is sent."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    heads: list[bytes] = []
    body = completion(answer("hi"), "m", 1)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + body)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    clients = HttpClients()
    async with listening:
        address = f"http://user:p%2540ss%2520word@127.0.0.1:{port}/v1"
        uri = ModelURI.parse(f"vllm/m?baseURL={address}{query}")
        await create_provider(uri, clients).complete(Request([Message.user("hello")]))
        await clients.aclose()
    fields = heads[0].decode().split("\r\n")
    assert fields[0] == "POST /v1/chat/completions HTTP/1.1"
    assert [f for f in fields if f.lower().startswith("authorization:")] == [
        f"authorization: {sent}"
    ]
