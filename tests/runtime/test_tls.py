"""HTTPS over real TLS: the generated suite has no certificates, so this is tested here."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agentkit.transport import HttpClients

HOST = "localhost"
BODY = b"x" * 1_000_000
pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("loopback")]


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of localhost that signs itself, with its key in the same file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(1))
    names = x509.SubjectAlternativeName([x509.DNSName(HOST)])
    signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    pem, text = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        signed.public_bytes(pem) + key.private_bytes(pem, text, serialization.NoEncryption())
    )
    return path


class Server:
    """Answers over TLS with a long body; counts connections."""

    def __init__(self, certificate: Path) -> None:
        self.connections = 0
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer requests until the client is gone."""
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        """Listen on a free port; yields the address."""
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, ssl=self._tls)
        async with server:
            yield f"https://{HOST}:{server.sockets[0].getsockname()[1]}/"


async def fetch(clients: HttpClients, url: str) -> bytes:
    """Return the body of a response."""
    async with aclosing(await clients.send(httpx2.Request("GET", url))) as response:
        return await response.aread()


async def test_a_trusted_server_is_asked_over_one_connection(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body comes whole, and the next request needs no handshake."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server, clients = Server(certificate), HttpClients()
    async with server.listen() as url:
        for _ in range(3):
            assert await fetch(clients, url) == BODY
        await clients.aclose()
    assert server.connections == 1


async def test_an_unknown_certificate_is_a_connect_error(certificate: Path) -> None:
    """Nothing is sent to it, and the error says what is wrong."""
    async with Server(certificate).listen() as url:
        with pytest.raises(httpx2.ConnectError, match="certificate"):
            await fetch(HttpClients(), url)


async def test_a_certificate_of_another_name_is_a_connect_error(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever it was made for."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with Server(certificate).listen() as url:
        with pytest.raises(httpx2.ConnectError, match=r"(?i)mismatch|not valid"):
            await fetch(HttpClients(), url.replace(HOST, "127.0.0.1"))
