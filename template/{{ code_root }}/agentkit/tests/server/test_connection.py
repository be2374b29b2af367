"""Tests of connections that send little or nothing."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from ...server.connection import PromptConnection

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Wire(asyncio.Transport):
    """The other end, as far as the server sees it."""

    closed = False

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    """Take a request and never answer."""
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("pieces", "closed"),
    [([], True), ([b"GET / HT"], True), ([b"G", b"E", b"T"], True), ([REQUEST], False)],
)
async def test_who_sends_no_whole_request_in_time_is_cut_off(
    pieces: list[bytes], closed: bool
) -> None:
    """Nothing, or a little now and then, does not hold a connection; a request does."""
    config = uvicorn.Config(never, timeout_keep_alive=0)
    connection, wire = PromptConnection(config, ServerState(), {}), Wire()
    connection.connection_made(wire)
    for piece in pieces:
        connection.data_received(piece)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert wire.closed is closed
    for task in connection.tasks:
        task.cancel()
