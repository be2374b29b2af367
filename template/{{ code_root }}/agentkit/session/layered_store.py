"""Two stores as one: a fast one for the working window, a lasting one for everything."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import TypeVar

from ..errors import StoreConflict
from ..observability.logger import Logger
from ..observability.redact import exception_text
from .store import TRIMMED, Row, Rows, SessionInfos, SessionStore

T = TypeVar("T")
PAUSE = 30.0  # seconds that a short-term store which failed is left alone


class LayeredSessionStore:
    """Writes to both stores, and reads from the short-term one what the long-term one confirms.

    The long-term store decides: about conflicts, turns, lists and reads, for which it is asked for
    the last row. What the short-term store lacks, it is given. When it fails in a turn, that costs
    a warning, and it is left alone for 30 seconds. `clock` returns seconds.
    """

    def __init__(
        self,
        short_term: SessionStore,
        long_term: SessionStore,
        logger: Logger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._short = short_term
        self._long = long_term
        self._logger = logger or Logger("sessions")
        self._clock = clock
        self._off_until = 0.0

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        near = await self._try(partial(self._short.load, id, after)) or []
        if not near or near[0] == TRIMMED:
            return await self._load_long(id, after, fill=not near)
        last = after + len(near) - 1
        newer = await self._long.load(id, last)
        if newer[:1] != near[-1:]:  # deleted, or deleted and begun anew
            await self._try(partial(self._short.delete, id))
            return await self._load_long(id, after, fill=True)
        if len(newer) > 1:
            await self._try(partial(self._fill, id, newer[1:], last + 1))
        return near + newer[1:]

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows; raises `StoreConflict` if the session does not have `at` rows."""
        await self._long.append(id, rows, at, user_id)
        await self._try(partial(self._follow, id, rows, at, user_id))

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error. Raises if either store fails."""
        await self._short.delete(id)
        await self._long.delete(id)

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user. Raises if either store fails."""
        for info in await self._long.list(user_id):  # the other may not know whose they are
            await self._short.delete(info.id)
        await self._short.delete_user(user_id)
        await self._long.delete_user(user_id)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        return await self._long.list(user_id)

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait as the long-term store lets them."""
        return self._long.turn(id)

    async def aclose(self) -> None:
        """Close both stores."""
        try:
            await self._short.aclose()
        finally:
            await self._long.aclose()

    async def _load_long(self, id: str, after: int, fill: bool) -> Rows:
        rows = await self._long.load(id, after)
        if fill and rows and after == 0:
            await self._try(partial(self._fill, id, rows, 0))
        return rows

    async def _fill(self, id: str, rows: Rows, at: int) -> None:
        with suppress(StoreConflict):  # somebody else was faster
            await self._short.append(id, rows, at)

    async def _follow(self, id: str, rows: Sequence[Row], at: int, user_id: str | None) -> None:
        try:
            await self._short.append(id, rows, at, user_id)
        except StoreConflict:  # it expired, or missed something: the next load brings it back
            await self._short.delete(id)

    async def _try(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Return what the short-term store does, or None with a warning if it fails."""
        if self._clock() < self._off_until:
            return None
        try:
            return await work()
        except Exception as error:  # a store is anybody's code
            if self._clock() >= self._off_until:  # else another session met it first
                self._off_until = self._clock() + PAUSE
                self._logger.warn(f"the short-term session store is off: {exception_text(error)}")
            return None
