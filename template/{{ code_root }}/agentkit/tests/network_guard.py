"""Keeps tests off the network: what tries to connect, send or look up a name fails its test."""

from __future__ import annotations

import socket
from typing import Any

import pytest

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def guard(monkeypatch: pytest.MonkeyPatch, *, loopback: bool) -> None:
    """Refuse all addresses, or with `loopback` all but this machine's, until the test ends."""
    for owner, name in (
        (socket.socket, "connect"),
        (socket.socket, "connect_ex"),
        (socket.socket, "sendto"),
        (socket, "getaddrinfo"),
    ):
        monkeypatch.setattr(owner, name, _guarded(getattr(owner, name), name, loopback))


def _guarded(original: Any, name: str, loopback: bool) -> Any:
    def call(*arguments: Any, **named: Any) -> Any:
        if loopback and not LOOPBACK.isdisjoint(_texts([*arguments, *named.values()])):
            return original(*arguments, **named)
        # Not an Exception: code under test that handles connection errors must not swallow it.
        pytest.fail(f"a test reached for the network: {name}{arguments!r}")

    return call


def _texts(values: list[Any]) -> set[str]:
    parts = [part for value in values for part in (value if type(value) is tuple else (value,))]
    return {part for part in parts if isinstance(part, str)}
