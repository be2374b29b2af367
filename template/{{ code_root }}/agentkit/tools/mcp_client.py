"""Tools from MCP servers: over stdio, streamable HTTP and SSE, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import httpx2

from ..errors import ConfigError, ToolError
from ..messages import Image, Text
from ..observability.logger import Logger
from ..observability.redact import exception_text, shorten
from ..retry import Backoff
from ..texts import clean, clean_json
from .mcp_config import HttpServer, StdioServer, read_config
from .mcp_connection import Connection
from .mcp_errors import McpServerError, NotSent
from .mcp_http import http_transport
from .mcp_stdio import stdio_transport
from .mcp_values import needs_approval, read_result, sent_arguments, tool_names
from .tool import NeedsApproval, Tool, ToolContext
from .untrusted import untrusted

if TYPE_CHECKING:
    import mcp.types
    from mcp.shared.dispatcher import ProgressFnT

__all__ = ["HttpServer", "McpClient", "McpServerError", "StdioServer"]

ATTEMPTS = 4  # to connect again and to send a call that the server did not take
PATIENCE = 5.0  # seconds a call waits for the next attempt to connect
REST = 10  # times as long as a failure took, a server is left alone
MOST_WARNINGS = 100
MOMENT = 2.0  # seconds a run waits for a server that failed before
LONGEST_DESCRIPTION = 10_000  # characters
LONGEST_PROBLEM = 1_000


class McpClient:
    """The tools of one server, which is connected in a task of its own.

    `config` is a `StdioServer`, an `HttpServer` or a dict like them: `{"type": "stdio", "command",
    "args", "env", "cwd"}` or `{"type": "http" | "sse", "url", "headers"}`. `connect_timeout` and
    `call_timeout` are in seconds (None: no limit). `needs_approval` replaces what the server says
    about its tools: by default those ask first that may destroy something. Raises `ConfigError`.
    """

    def __init__(
        self,
        config: StdioServer | HttpServer | Mapping[str, Any],
        logger: Logger,
        name: str,
        *,
        connect_timeout: float = 30.0,
        call_timeout: float | None = 60.0,
        needs_approval: NeedsApproval | None = None,
        backoff: Backoff | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigError("an MCP server needs a name: its tools are called name__tool")
        self.name = name
        self._server = read_config(config, name)
        self._logger = logger.child(name)
        self._connect_timeout = connect_timeout
        self._call_timeout = call_timeout
        self._needs_approval = needs_approval
        self._backoff = backoff or Backoff()
        self._transport = transport
        self._wanted = False
        self._warned: set[str] = set()
        self._lives: list[Connection] = []  # the last is the current one, others are ending
        self._failures = 0  # in a row, before the last
        self._problem: str | None = None
        self._tools: dict[str, tuple[mcp.types.Tool, Tool]] = {}
        self._listed: list[mcp.types.Tool] | None = None
        for sdk in map(logging.getLogger, ("mcp", "client")):
            if not sdk.handlers:  # else what the SDK logs would go to the user's terminal
                sdk.addHandler(logging.NullHandler())

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
        """Return the tools that the server has now, by the names they have for a model.

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
        """Return a connection that works.

        Where the last one failed, `patient` waits for its time and for the next to come about;
        else that one has a moment, then goes on in the background.
        """
        last = self._lives[-1] if self._lives else None
        if last is not None and last.failed and not last.is_old_server:
            await self._pause(last, patient)
            last = self._lives[-1] if self._lives else None  # another task may have been faster
        if last is None or last.over:
            self._lives = [life for life in self._lives if not life.gone]
            last = self._connect(last)
            self._lives.append(last)
        try:
            async with asyncio.timeout(MOMENT if self._failures and not patient else None):
                await last.ready()
        except TimeoutError:
            raise McpServerError(f"MCP server {self.name}: {self._problem}") from None
        except McpServerError:
            if last.is_old_server:
                return await self._live(patient=patient)
            raise
        return last

    async def _pause(self, last: Connection, patient: bool) -> None:
        took = last.ended_at - last.began_at
        pause = max(self._backoff.delay(min(self._failures + 1, 8)), REST * took)
        left = last.ended_at + pause - asyncio.get_running_loop().time()
        if left > 0:
            if not patient or left > PATIENCE:
                raise McpServerError(f"MCP server {self.name}: {last.problem}")
            await self._backoff.sleep(left)

    def _connect(self, last: Connection | None) -> Connection:
        mode = "auto"
        if last is None:
            self._failures = 0
        elif last.is_old_server:
            mode = "legacy"
        elif last.failed:
            self._failures, self._problem = self._failures + 1, last.problem
        else:
            mode, self._failures = last.mode, 0
        limit, backoff = self._connect_timeout, self._backoff
        return Connection(self.name, self._open_transport, mode, limit, backoff, self._warn)

    def _warn(self, problem: str) -> None:
        if problem not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add(problem)
            self._logger.warn(problem)

    def _open_transport(self, lost: Callable[[str], None]) -> AbstractAsyncContextManager[Any]:
        if isinstance(self._server, StdioServer):
            return stdio_transport(self._server, lost, self._logger.debug)
        return http_transport(self._server, lost, self._transport)

    def _make_tools(
        self, listed: Sequence[mcp.types.Tool]
    ) -> dict[str, tuple[mcp.types.Tool, Tool]]:
        names = tool_names(self.name, [found.name for found in listed])
        made: dict[str, tuple[mcp.types.Tool, Tool]] = {}
        for found in listed:
            name = names[found.name]
            before = self._tools.get(name)
            if before is not None and before[0] == found:
                made[name] = before
                continue
            try:
                made[name] = found, self._make_tool(name, found)
            except (ConfigError, ValueError) as error:
                self._warn(f"tool {found.name!r} is left out: {error}")
        return made

    def _make_tool(self, name: str, found: mcp.types.Tool) -> Tool:
        schema = clean_json(found.input_schema)

        async def execute(arguments: dict[str, Any], ctx: ToolContext) -> Sequence[Text | Image]:
            result = await self._call(found.name, name, sent_arguments(arguments, schema), ctx)
            parts = read_result(result, name)
            if result.is_error:
                raise ToolError(parts[0].text if isinstance(parts[0], Text) else "it failed")
            return parts

        asks = self._needs_approval
        asks = needs_approval(found.annotations) if asks is None else asks
        description = shorten(clean(found.description or found.title or ""), LONGEST_DESCRIPTION)
        return Tool(name, description, schema, execute, timeout=None, needs_approval=asks)

    async def _call(
        self, tool: str, name: str, arguments: dict[str, Any], ctx: ToolContext
    ) -> mcp.types.CallToolResult:
        from mcp import MCPError

        async def report(progress: float, total: float | None, message: str | None) -> None:
            ctx.progress(progress, total, message or "")

        try:
            return await self._send(tool, arguments, report)
        except McpServerError as error:
            raise ToolError(str(error)) from None
        except TimeoutError:
            limit = f"{self._call_timeout:g} s"
            raise ToolError(f"No answer within {limit}; the call may have run.") from None
        except MCPError as error:
            raise ToolError(untrusted(error.message, name)) from None
        except (RuntimeError, ValueError) as error:  # of the SDK, which checks what it gets
            problem = f"It ran, but its answer breaks the protocol: {exception_text(error)}"
            raise ToolError(untrusted(problem, name, LONGEST_PROBLEM)) from None

    async def _send(
        self, tool: str, arguments: dict[str, Any], report: ProgressFnT
    ) -> mcp.types.CallToolResult:
        """Send a call until the server has it; once it may have run it is never sent again."""
        problem = None
        for attempt in range(1, ATTEMPTS + 1):
            if not self._wanted:
                raise McpServerError(f"MCP server {self.name} is not connected")
            try:
                connection = await self._live(patient=True)
            except McpServerError:
                if attempt == ATTEMPTS:
                    raise
                continue
            try:
                async with asyncio.timeout(self._call_timeout):
                    return await connection.call(tool, arguments, report)
            except NotSent as error:
                problem = error
            if not connection.over and attempt < ATTEMPTS:
                await self._backoff.sleep(self._backoff.delay(attempt))
        raise McpServerError(f"MCP server {self.name} did not take the call: {problem}")
