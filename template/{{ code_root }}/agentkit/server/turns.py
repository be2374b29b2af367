"""One turn of the agent in a task of its own, and whoever watches it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from fastapi import Request

from ..llm.events import Event, Finished
from ..llm.result import GenerateResult
from .events import masked
from .problems import busy

UNREAD = 16  # events that the agent may be ahead of the client
CLEANUP = 10.0  # seconds that a cancelled turn may take to end


class Turn:
    """Runs a stream of the agent; cancelling it is one clean act, whoever reads.

    A reader that is slow holds the agent up.
    """

    def __init__(self, stream: AsyncGenerator[Event, None]) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[Event](UNREAD)
        self.task = asyncio.create_task(self._run(stream))

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield what happens; raises what the run raised, or `Problem` if it was cancelled."""
        async with self._receive:
            async for event in self._receive:
                yield event
        await asyncio.wait((self.task,))
        if self.task.cancelled():
            raise busy("shutting_down", "the server is shutting down and stopped this turn")
        self.task.result()

    async def result(self, request: Request) -> GenerateResult:
        """Wait for the result; a client that goes away cancels the turn."""
        watcher = asyncio.create_task(self._cancel_when_gone(request))
        try:
            async with aclosing(self.events()) as events:
                async for event in events:
                    last = event
            assert isinstance(last, Finished)
            return last.result
        finally:
            watcher.cancel()
            await self.end()

    def cancel(self) -> None:
        """Cancel the run, and the model's call and the tools with it."""
        self.task.cancel()

    async def end(self) -> None:
        """Cancel the run if it still goes on, and wait until it has ended."""
        self.task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait((self.task,), timeout=CLEANUP)
        self._send.close()
        self._receive.close()
        if self.task.done() and not self.task.cancelled():
            self.task.exception()  # nobody else may have asked for it

    async def _run(self, stream: AsyncGenerator[Event, None]) -> None:
        async with self._send, aclosing(masked(stream)) as events:
            async for event in events:
                await self._send.send(event)

    async def _cancel_when_gone(self, request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        self.cancel()
