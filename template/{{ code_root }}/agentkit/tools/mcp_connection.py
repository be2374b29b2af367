"""One life of a session with an MCP server, from the handshake to its end, in a task of its own.

The SDK's client must be left in the task that entered it, while callers connect, call and
disconnect from wherever they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

from ..observability.redact import mask, shorten
from ..retry import Backoff
from .mcp_errors import EXPIRED, LOST, NOT_SENT, McpServerError, NotSent, root_cause
from .mcp_listing import list_tools, mended

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import CallToolResult, Tool

LONGEST_REASON = 500  # characters
CLOSING = 8.0  # seconds a session gets to end before it is cancelled
LAST_NEWS = 0.5  # seconds to learn why a session broke off
LONG_HEARD = 60.0  # seconds after which a subscription that ends is opened again without delay

OpenTransport = Callable[[Callable[[str], None]], AbstractAsyncContextManager[Any]]


class Connection:
    """Connects at once; `ready()` waits for it, `over` tells when it is of no use any more.

    `open_transport(lost)` yields the SDK's message streams. Until there is a list of tools, `limit`
    seconds may pass.
    """

    def __init__(
        self,
        name: str,
        open_transport: OpenTransport,
        mode: str,
        limit: float,
        backoff: Backoff,
        warn: Callable[[str], None],
    ) -> None:
        self.mode = mode
        self.tools: list[Tool] = []
        self.problem: str | None = None  # why it is over
        self.ended_at = 0.0  # by the clock of the loop
        self._was_ready = False
        self._broke_off = False
        self._name = name
        self._open_transport = open_transport
        self._limit = limit
        self._backoff = backoff
        self._warn = warn
        self._client: Client | None = None
        self._is_old = False  # the list of tools
        self._listing = asyncio.Lock()
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._deadline: asyncio.Timeout | None = None  # while connecting
        self._loop = asyncio.get_running_loop()
        self.began_at = self._loop.time()
        self._task = self._loop.create_task(self._own(), name=f"mcp:{name}")

    @property
    def over(self) -> bool:
        """Whether it has ended or is ending."""
        return self.gone or self._stop.is_set()

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left, as it has ended or went with its event loop."""
        return self._loop is not asyncio.get_running_loop() or self._task.done()

    @property
    def failed(self) -> bool:
        """Whether it is over and never was ready."""
        return self.over and not self._was_ready

    @property
    def is_old_server(self) -> bool:
        """Whether it left at the question for its version, as some do that know only the old."""
        return self.failed and self._broke_off and self.mode == "auto"

    async def ready(self) -> None:
        """Wait until it can be used. Raises `McpServerError` when that fails."""
        await self._ready.wait()
        if self._client is None or self.over:
            raise McpServerError(f"MCP server {self._name}: {self.problem or 'it was closed'}")

    async def refresh(self) -> None:
        """Ask for the tools again if the server said that they changed.

        Raises `McpServerError` when it does not tell them.
        """
        async with self._listing:
            if not self._is_old or self._client is None:
                return
            self._is_old = False
            try:
                async with asyncio.timeout(self._limit):
                    self.tools = await list_tools(self._client, self._warn)
            except Exception as error:
                self._is_old = True
                reason = mask(root_cause(error, self._limit))
                raise McpServerError(f"MCP server {self._name}: {reason}") from None

    async def call(
        self, tool: str, arguments: dict[str, Any], report: ProgressFnT
    ) -> CallToolResult:
        """Call a tool once.

        Raises `NotSent` when the server cannot have seen the call, `McpServerError` when the
        connection broke and it may have, and the SDK's `MCPError` for what the server refuses.
        """
        from mcp import MCPError

        client = self._client
        if client is None:
            raise NotSent(self.problem)
        try:
            return await client.call_tool(tool, arguments, progress_callback=report)
        except MCPError as error:
            reason = error.message
            if error.code == EXPIRED:
                self.end(reason)
            if error.code in (NOT_SENT, EXPIRED):
                raise NotSent(reason) from None
            if error.code != LOST or not (self.over or reason == "Connection closed"):
                raise
        if self.problem is None:
            await asyncio.wait({self._task}, timeout=LAST_NEWS)
        self.end(reason)
        raise McpServerError(
            f"MCP server {self._name}: the connection broke during the call, which may have run "
            f"and is not sent again: {self.problem}"
        )

    def end(self, reason: str) -> None:
        """Let it end, without waiting for that."""
        if self.problem is None:
            self.problem = shorten(mask(reason), LONGEST_REASON)
            self.ended_at = self._loop.time()
        self._stop.set()
        self._ready.set()
        if self._deadline is not None:
            with suppress(RuntimeError):  # it is being given up already
                self._deadline.reschedule(self._loop.time())

    async def close(self) -> None:
        """End it and wait until nothing of it is left."""
        if self.gone:
            return
        self.end("it was closed")
        await asyncio.wait({self._task}, timeout=CLOSING)
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSING)

    async def _own(self) -> None:
        new_client = self._new_client()  # loads the SDK, which is not the server's time
        problem = f"no answer within {self._limit:g} s"
        timer = self._loop.call_later(self._limit, self.end, problem)
        try:
            async with asyncio.timeout(None) as self._deadline, new_client as client:
                self.tools = await list_tools(client, self._warn)
                timer.cancel()
                self._deadline = None
                self._client, self._was_ready = client, True
                self._ready.set()
                await self._until_stopped(client)
        except Exception as error:
            self.end(root_cause(error, self._limit))
        finally:
            timer.cancel()
            self._client = None
            self._stop.set()
            self._ready.set()

    def _lost(self, reason: str) -> None:
        if self.problem is None:  # else it is what we did to it
            self._broke_off = True
            self.end(reason)

    def _new_client(self) -> Client:
        from mcp import Client
        from mcp.types import Implementation

        return Client(
            mended(self._open_transport(self._lost), self._warn),
            mode=self.mode,
            cache=None,
            client_info=Implementation(name="agentkit", version="1"),
            message_handler=self._on_message,
        )

    async def _on_message(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._is_old = True

    async def _until_stopped(self, client: Client) -> None:
        listening = asyncio.create_task(self._listen(client))
        try:
            await self._stop.wait()
        finally:
            listening.cancel()
            await asyncio.wait({listening})

    async def _listen(self, client: Client) -> None:
        """Keep a subscription open where the protocol wants one to tell that tools changed."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        attempt = 0
        while True:
            began_at = self._loop.time()
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    self._is_old = True  # what changed before was not heard
                    async for _ in subscription:
                        self._is_old = True
            except (SubscriptionLost, TimeoutError):
                pass
            except (MCPError, ListenNotSupportedError) as error:
                if getattr(error, "code", None) not in (LOST, NOT_SENT):
                    return
            attempt = attempt + 1 if self._loop.time() - began_at < LONG_HEARD else 1
            await self._backoff.sleep(self._backoff.delay(min(attempt, 8)))
