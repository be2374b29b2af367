"""One turn at a time per session, for processes that share a server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from ..errors import AgentkitError
from .owner import POLL, RENEWAL
from .store import Turns

Sleep = Callable[[float], Awaitable[object]]


class Leases(Protocol):
    """Notes on a server that say who holds which session; they expire by the server's clock."""

    async def take(self, id: str, owner: str) -> bool:
        """Give a session that is free, or is the owner's, to the owner for `LEASE` seconds."""
        ...

    async def extend(self, id: str, owner: str) -> None:
        """Start the `LEASE` seconds of the owner's session again."""
        ...

    async def release(self, id: str, owner: str) -> None:
        """Free the session if it is the owner's."""
        ...


class LeasedTurns:
    """Turns within a process in the order they came, and between processes by a lease.

    A process that dies holds its sessions until their leases expire.
    """

    def __init__(self, leases: Leases, sleep: Sleep = asyncio.sleep) -> None:
        self._leases = leases
        self._sleep = sleep
        self._turns = Turns()
        self._releases: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def __call__(self, id: str) -> AsyncIterator[None]:
        """Wait for the session, then hold it."""
        owner = secrets.token_hex(16)
        async with self._turns(id):
            request: asyncio.Future[bool] | None = None
            renewal: asyncio.Task[None] | None = None
            try:
                while True:
                    request = asyncio.ensure_future(self._leases.take(id, owner))
                    if await asyncio.shield(request):
                        break
                    await self._sleep(POLL)
                renewal = asyncio.create_task(self._renew(id, owner))
                yield
            finally:
                if renewal:
                    renewal.cancel()
                if request:
                    await asyncio.shield(self._start_release(id, owner, request))

    async def _renew(self, id: str, owner: str) -> None:
        while True:
            await self._sleep(RENEWAL)
            with suppress(AgentkitError):  # should it expire, `append` still refuses a stale turn
                await self._leases.extend(id, owner)

    def _start_release(
        self, id: str, owner: str, request: asyncio.Future[bool]
    ) -> asyncio.Task[None]:
        """Release in a task of its own, which a second cancellation leaves alone."""
        task = asyncio.create_task(self._release(id, owner, request))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        return task

    async def _release(self, id: str, owner: str, request: asyncio.Future[bool]) -> None:
        await asyncio.wait([request])  # a cancelled turn may leave it under way
        if request.cancelled() or request.exception() or not request.result():
            return
        with suppress(AgentkitError):  # it expires
            await self._leases.release(id, owner)
