"""The guard: which addresses are public, in whatever spelling, and what may be opened."""

from __future__ import annotations

import re
import socket

import pytest

from ...content.address_guard import AddressGuard, numeric_address, resolve
from ...errors import ConfigError, FetchError
from .fake_web import PUBLIC, FakeWeb

# Ways to write an address of this machine, of a local network or of a cloud's metadata.
PRIVATE_SPELLINGS = (
    *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001"),
    *("0x7f.1", "0177.0.0.1", "0x7f.0x0.0x0.0x1", "127.255.255.254", "0", "0.0.0.0", "0x0"),
    *("::1", "[::1]", "0:0:0:0:0:0:0:1", "::", "::ffff:127.0.0.1", "[::ffff:7f00:1]"),
    *("::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::127.0.0.1"),
    *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "fe80::1"),
    *("fe80::1%eth0", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "100::1", "2001:db8::1"),
    *("3fff::1", "5f00::1", "4000::1", "10.0.0.1", "10.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "192.168.257", "3232235777", "169.254.169.254", "2852039166", "0xa9fea9fe"),
    *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "100.64.0.1"),
    *("100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.7"),
    *("224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "192.88.99.1"),
)


async def test_a_private_address_is_refused_in_every_spelling() -> None:
    """What counts is the address; nothing is looked up for it."""
    web = FakeWeb()
    for host in PRIVATE_SPELLINGS:
        with pytest.raises(FetchError, match=f"{re.escape(host)}.* not on the public internet"):
            await AddressGuard(resolve=web.resolve).addresses(host, 80)
    assert web.looked_up == []


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "134744072", "1.1", "2606:4700::1111", "[2606:4700::1111]"]
)
async def test_a_public_address_is_allowed_in_every_spelling(host: str) -> None:
    """Numbers are no reason to refuse a host."""
    (address,) = await AddressGuard(resolve=FakeWeb().resolve).addresses(host, 80)
    assert str(numeric_address(host)) == address


@pytest.mark.parametrize("host", ["64:ff9b::808:808", "::ffff:8.8.8.8", "2002:808:808::1"])
async def test_an_ipv4_address_within_ipv6_counts_as_itself(host: str) -> None:
    """A network that has only IPv6 reaches the public internet through such addresses."""
    assert await AddressGuard().addresses(host, 443) == [str(numeric_address(host))]


@pytest.mark.parametrize(
    "private", ["127.0.0.1", "::1", "10.0.0.8", "fe80::1%3", "::ffff:10.0.0.1"]
)
async def test_a_name_with_a_private_address_is_refused(private: str) -> None:
    """Also when its other addresses are public: a name that is half public is a trick."""
    web = FakeWeb()
    web.addresses["trick.example.com"] = [PUBLIC, private]
    with pytest.raises(FetchError, match=r"trick\.example\.com.*not on the public internet"):
        await AddressGuard(resolve=web.resolve).addresses("trick.example.com", 443)


async def test_addresses_of_a_name_keep_their_order() -> None:
    """The resolver knows which one is best; one that comes twice is tried once."""
    web = FakeWeb()
    web.addresses["a.example.com"] = ["2606:4700::1111", PUBLIC, PUBLIC]
    found = await AddressGuard(resolve=web.resolve).addresses("a.example.com", 443)
    assert found == ["2606:4700::1111", PUBLIC]


async def test_an_unknown_name_says_so() -> None:
    """The error names the host."""
    web = FakeWeb()
    web.addresses["missing.example.com"] = []
    with pytest.raises(FetchError, match=r"'missing\.example\.com' cannot be resolved"):
        await AddressGuard(resolve=web.resolve).addresses("missing.example.com", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "192.168.0.9", "::1", "fd12::1"])
async def test_allow_private_opens_this_machine_and_local_networks(host: str) -> None:
    """The option is there for a server next door."""
    assert await AddressGuard(allow_private=True).addresses(host, 80) == [host]


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "fe80::1"),
        *("224.0.0.1", "0.0.0.0", "::ffff:169.254.169.254", "255.255.255.255"),
    ],
)
async def test_allow_private_does_not_open_metadata_services(host: str) -> None:
    """Nobody means those by a local network."""
    with pytest.raises(FetchError, match="not on the public internet"):
        await AddressGuard(allow_private=True).addresses(host, 80)


async def test_a_list_of_networks_opens_just_those() -> None:
    """The neighbours stay closed."""
    guard = AddressGuard(allow_private=["192.168.7.0/24"])
    assert await guard.addresses("192.168.7.20", 80) == ["192.168.7.20"]
    for closed in ("192.168.8.20", "127.0.0.1"):
        with pytest.raises(FetchError):
            await guard.addresses(closed, 80)


async def test_one_network_may_be_given_as_text() -> None:
    """A text is one network, not a list of letters."""
    guard = AddressGuard(allow_private="10.0.0.0/8")
    assert await guard.addresses("10.9.9.9", 80) == ["10.9.9.9"]


async def test_an_ipv6_spelling_of_an_opened_network_is_open_as_well() -> None:
    """It is the same address."""
    guard = AddressGuard(allow_private=["10.0.0.0/8"])
    assert await guard.addresses("::ffff:10.0.0.1", 80) == ["::ffff:a00:1"]


def test_what_is_no_network_is_a_configuration_error() -> None:
    """The error shows how to write one."""
    with pytest.raises(ConfigError, match=r"'lan' is no network.*192\.168\.0\.0/16"):
        AddressGuard(allow_private=["lan"])


@pytest.mark.parametrize("name", ["example.com", "localhost", "1.2.3.4.5", "0x.com", "", "a b"])
def test_a_name_is_no_numeric_address(name: str) -> None:
    """It has to be looked up."""
    assert numeric_address(name) is None


async def test_names_are_looked_up_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver asks for addresses that take TCP connections and returns their texts."""

    def getaddrinfo(host: str, port: int, **options: object) -> list[object]:
        assert (host, port, options) == ("example.com", 443, {"type": socket.SOCK_STREAM})
        return [(socket.AF_INET6, 1, 6, "", ("2606:4700::1111", 443, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert await resolve("example.com", 443) == ["2606:4700::1111"]


@pytest.mark.parametrize("failure", [OSError("no"), UnicodeError("label too long")])
async def test_a_lookup_that_fails_is_an_unknown_name(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """A name too long for the domain name system raises another error than a missing one."""

    def getaddrinfo(*_: object, **__: object) -> list[object]:
        raise failure

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with pytest.raises(FetchError, match="cannot be resolved"):
        await AddressGuard().addresses("example.com", 443)
