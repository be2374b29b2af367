"""Which addresses may be connected to: a guard against requests to private networks (SSRF).

A model, or a page it read, chooses the URL. So the name is resolved here, every address it has is
checked, and the caller connects to exactly those. What counts is the address, not its spelling:
`2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]` and a name that resolves there are all 127.0.0.1.
"""

from __future__ import annotations

import functools
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from ..errors import ConfigError, FetchError
from ..tools.tool import run_in_thread

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]

LAN = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")

_ALLOCATED = IPv6Network("2000::/3")  # all of IPv6 that is routed on the public internet
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_REFUSED = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # Azure's host agent: a public number, reachable inside only
            "100.100.100.200/32",  # Alibaba's metadata
            "fd00:ec2::/32",  # AWS's metadata
            "192.0.0.0/24",  # protocols of the IETF; parts of it, and which ones are public,
            "2001::/23",  # depend on the version of Python
            "3fff::/20",  # documentation, which older versions take for public
            "192.88.99.0/24",  # 6to4 relays, withdrawn
        ),
    )
)


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name, best first. Raises `OSError` when it has none.

    Runs in a daemon thread: a name server that hangs must not fill the loop's own thread pool.
    """
    look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return [str(found[4][0]) for found in await run_in_thread(look_up)]


class AddressGuard:
    """Resolves names and refuses what is not on the public internet.

    `allow_private=True` opens this machine and the usual local networks; a list of networks such
    as `["192.168.7.0/24"]` opens just those. Raises `ConfigError` for what is no network.
    """

    def __init__(
        self, allow_private: bool | Sequence[str] = False, resolve: Resolve = resolve
    ) -> None:
        named = LAN if allow_private is True else allow_private or ()
        self._allowed = tuple(map(_network, [named] if isinstance(named, str) else named))
        # An explicit list means what it says; the convenient one leaves metadata services closed.
        self._refused = _REFUSED if allow_private is True else ()
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses to connect to, each checked, best first.

        Raises `FetchError` when there is none, or when one of them is not allowed: a name that is
        half public is a trick.
        """
        literal = numeric_address(host)
        if literal is not None:
            found = [str(literal)]
        else:
            try:
                found = list(dict.fromkeys(await self._resolve(host, port)))
            except (OSError, UnicodeError):
                found = []
            if not found:
                raise FetchError(f"the host name {host[:100]!r} cannot be resolved")
        for address in found:
            if not self.allows(address):
                raise FetchError(
                    f"{host[:100]!r} is not on the public internet ({address}), so it is not "
                    "fetched; the option allow_private opens local networks"
                )
        return found

    def allows(self, address: str) -> bool:
        """Tell whether this address (as the resolver writes it) may be connected to."""
        try:
            numbers = _unwrapped(ip_address(address.partition("%")[0]))
        except ValueError:
            return False
        return all(self._allows(number) for number in numbers)

    def _allows(self, number: Address) -> bool:
        if any(number in network for network in self._refused):
            return False
        return is_public(number) or any(number in network for network in self._allowed)


def numeric_address(host: str) -> Address | None:
    """Return the address that a host spells in numbers, also the way C libraries read them.

    `127.1`, `0x7f.0.0.1`, `0177.0.0.1` and `2130706433` are all 127.0.0.1; a name is None.
    """
    host = host.strip("[]").removesuffix(".").partition("%")[0]
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, UnicodeError, ValueError):
        return None


def is_public(number: Address) -> bool:
    """Tell whether an address is one host on the public internet."""
    if number.is_multicast or not number.is_global:
        return False
    if any(number in network for network in _REFUSED):
        return False
    return isinstance(number, IPv4Address) or number in _ALLOCATED


def _unwrapped(number: Address) -> list[Address]:
    """Return the addresses that a packet to this one can end up at."""
    if isinstance(number, IPv4Address):
        return [number]
    inner = number.ipv4_mapped
    if inner is None and (number in _NAT64 or (number in _COMPATIBLE and int(number) > 1)):
        inner = IPv4Address(int(number) & 0xFFFFFFFF)
    if inner is not None:
        return [inner]
    return [number, number.sixtofour] if number.sixtofour else [number]


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise ConfigError(
            f"allow_private: {text!r} is no network; write one such as '192.168.0.0/16'"
        ) from None
