"""Sessions in one SQLite file, safe for many tasks and several processes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import AgentkitError, StoreError
from .owner import LEASE, POLL, RENEWAL, is_dead, new_owner
from .sqlite_schema import prepare
from .sqlite_worker import SqliteWorker
from .store import (
    Row,
    Rows,
    SessionInfo,
    SessionInfos,
    Turns,
    conflict,
    row_from_json,
    row_to_json,
    utc,
)

if TYPE_CHECKING:
    from sqlite3 import Connection


class SqliteSessionStore:
    """Keeps sessions in a file that only its owner can read. Nothing is touched before first use.

    A folder that is made for it is hidden from git. A turn is a lease: that of a dead process of
    this machine is taken over at once, any other after 15 seconds without a sign of life. `clock`
    returns Unix time. All methods raise `StoreError` when the file cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._worker = SqliteWorker(Path(path), prepare)
        self._turns = Turns()

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        return await self._worker.post(partial(_load, id=id, after=after), writes=False)

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows; raises `StoreConflict` if the session does not have `at` rows."""
        texts = [row_to_json(row) for row in rows]
        work = partial(_append, id=id, texts=texts, at=at, user_id=user_id, now=self._clock())
        await self._worker.post(work, writes=True)

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        await self._worker.post(partial(_delete, where="id = ?", value=id), writes=True)

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        await self._worker.post(partial(_delete, where="user_id = ?", value=user_id), writes=True)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        return await self._worker.post(partial(_list, user_id=user_id), writes=False)

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait, within a process in the order they came."""
        return self._turn(id)

    async def aclose(self) -> None:
        """Finish what is queued and close the file."""
        await self._worker.aclose()

    @asynccontextmanager
    async def _turn(self, id: str) -> AsyncIterator[None]:
        owner = new_owner()
        async with self._turns(id):
            renewal: asyncio.Task[None] | None = None
            try:
                while not await self._take(id, owner):
                    await self._sleep(POLL)
                renewal = asyncio.create_task(self._renew(id, owner))
                yield
            finally:
                if renewal:
                    renewal.cancel()
                # Not awaited: a cancelled turn ends at once, and the queue keeps the order.
                self._worker.post(partial(_release, id=id, owner=owner), writes=True)

    async def _take(self, id: str, owner: str) -> bool:
        work = partial(_take, id=id, owner=owner, now=self._clock())
        return await self._worker.post(work, writes=True)

    async def _renew(self, id: str, owner: str) -> None:
        while True:
            await self._sleep(RENEWAL)
            work = partial(_extend, id=id, owner=owner, expires=self._clock() + LEASE)
            with suppress(AgentkitError):  # should it expire, `append` still refuses a stale turn
                await self._worker.post(work, writes=True)


def _load(database: Connection, id: str, after: int) -> Rows:
    found = database.execute(
        "SELECT position, json FROM session_rows WHERE session = ? AND position >= ?"
        " ORDER BY position",
        (id, after),
    )
    rows: Rows = []
    for position, text in found:
        try:
            rows.append(row_from_json(text))
        except ValueError as error:
            raise StoreError(f'session "{id}": row {position} is damaged') from error
    return rows


def _append(
    database: Connection, id: str, texts: Sequence[bytes], at: int, user_id: str | None, now: float
) -> None:
    found = database.execute("SELECT length FROM sessions WHERE id = ?", (id,)).fetchone()
    length = found[0] if found else 0
    if length != at:
        raise conflict(id, at, length)
    if not texts:
        return
    database.executemany(
        "INSERT INTO session_rows VALUES (?, ?, ?)",
        [(id, at + index, text) for index, text in enumerate(texts)],
    )
    database.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " length = excluded.length, updated = excluded.updated,"
        " user_id = coalesce(user_id, excluded.user_id)",
        (id, user_id, at + len(texts), now),
    )


def _delete(database: Connection, where: str, value: str) -> None:
    found = f"(SELECT id FROM sessions WHERE {where})"
    database.execute(f"DELETE FROM session_rows WHERE session IN {found}", (value,))
    database.execute(f"DELETE FROM sessions WHERE {where}", (value,))


def _list(database: Connection, user_id: str | None) -> SessionInfos:
    found = database.execute(
        "SELECT id, user_id, length, updated FROM sessions WHERE ?1 IS NULL OR user_id = ?1"
        " ORDER BY updated DESC, id",
        (user_id,),
    )
    return [SessionInfo(id, user, length, utc(updated)) for id, user, length, updated in found]


def _take(database: Connection, id: str, owner: str, now: float) -> bool:
    held = database.execute("SELECT owner, expires FROM leases WHERE session = ?", (id,)).fetchone()
    if held and held[1] > now and not is_dead(held[0]):
        return False
    database.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (id, owner, now + LEASE))
    return True


def _extend(database: Connection, id: str, owner: str, expires: float) -> None:
    database.execute(
        "UPDATE leases SET expires = ? WHERE session = ? AND owner = ?", (expires, id, owner)
    )


def _release(database: Connection, id: str, owner: str) -> None:
    database.execute("DELETE FROM leases WHERE session = ? AND owner = ?", (id, owner))
