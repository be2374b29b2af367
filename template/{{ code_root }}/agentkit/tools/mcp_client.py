"""Tools from MCP servers: over stdio, streamable HTTP and SSE, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import httpx2

from ..errors import ConfigError, ToolError
from ..messages import Image, Text
from ..observability.logger import Logger
from ..observability.redact import add_secret, exception_text, is_secret_name, shorten
from ..retry import Backoff
from ..texts import clean, clean_json
from .mcp_connection import Connection, McpServerError, NotSent
from .mcp_http import HttpServer, http_transport
from .mcp_stdio import StdioServer, stdio_transport
from .mcp_values import needs_approval, read_result, sent_arguments, tool_names
from .tool import NeedsApproval, Tool, ToolContext
from .untrusted import untrusted

if TYPE_CHECKING:
    import mcp.types

ATTEMPTS = 3  # to reconnect, and to send a call that did not reach the server
PATIENCE = 5.0  # seconds a call waits for the next attempt to connect
REST = 10  # times as long as a failure took, a server is left alone
LONGEST_DESCRIPTION = 10_000  # characters
_KINDS = {"stdio": StdioServer, "http": HttpServer, "sse": HttpServer}


class McpClient:
    """The tools of one server, which is connected in a task of its own.

    `config` is a `StdioServer`, an `HttpServer` or a dict like them: `{"type": "stdio", "command",
    "args", "env", "cwd"}` or `{"type": "http" | "sse", "url", "headers"}`. `connect_timeout` and
    `call_timeout` are in seconds (None: no limit). `needs_approval` replaces what the server says
    about its tools: by default those ask first that may destroy something. Raises `ConfigError`.
    """

    def __init__(
        self,
        config: StdioServer | HttpServer | Mapping[str, Any] | Any,
        logger: Logger,
        name: str,
        *,
        connect_timeout: float = 30.0,
        call_timeout: float | None = 60.0,
        needs_approval: NeedsApproval | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 (frozen)
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigError("an MCP server needs a name: its tools are called name__tool")
        self.name = name
        self._server = _read_config(config, name)
        self._logger = logger.child(name)
        self._connect_timeout = connect_timeout
        self._call_timeout = call_timeout
        self._needs_approval = needs_approval
        self._backoff = backoff
        self._transport = transport
        self._wanted = False
        self._mode = "auto"
        self._lives: list[Connection] = []  # the last is the current one, others are ending
        self._failures = 0
        self._tools: dict[str, tuple[mcp.types.Tool, Tool]] = {}
        self._listed: list[mcp.types.Tool] | None = None
        for package in ("mcp", "client"):  # what the SDK logs is no line for the user's terminal
            logging.getLogger(package).addHandler(logging.NullHandler())

    async def connect(self) -> None:
        """Connect and learn the tools; does nothing while connected.

        Raises `McpServerError` with the root cause, at once if the last attempt was just now.
        """
        self._wanted = True
        await self._live(patient=False)

    async def disconnect(self) -> None:
        """Disconnect, and wait until no process is left; works from any task, also twice."""
        self._wanted = False
        lives, self._lives = self._lives, []
        await asyncio.gather(*(life.close() for life in lives))

    async def get_tools(self) -> dict[str, Tool]:
        """Return the tools that the server has now by the names they have for a model.

        Reconnects if the connection was lost. Raises `McpServerError`.
        """
        if not self._wanted:
            raise McpServerError(f"MCP server {self.name} is not connected; call connect() first")
        connection = await self._live(patient=False)
        await connection.refresh()
        if connection.tools is not self._listed:
            self._tools = self._make_tools(connection.tools)
            self._listed = connection.tools
        return {name: tool for name, (_, tool) in self._tools.items()}

    async def _live(self, *, patient: bool) -> Connection:
        """Return a connection that works; `patient` waits for a server that failed just now."""
        last = self._lives[-1] if self._lives else None
        if last is None or last.over:
            if last is not None and last.failed:
                await self._pause(last, patient)
            if last is (self._lives[-1] if self._lives else None):  # nobody else was faster
                self._lives = [life for life in self._lives if not life.gone]
                self._lives.append(self._connect())
        connection = self._lives[-1]
        try:
            await connection.ready()
        except McpServerError:
            if connection.refused_probe and self._mode == "auto":
                self._mode = "legacy"  # there are servers that leave at a question they do not know
                self._lives.append(self._connect())
                ...
            raise
        return connection
