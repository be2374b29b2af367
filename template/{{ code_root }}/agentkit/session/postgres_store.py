"""Sessions in PostgreSQL, for many processes on many machines."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from ..errors import StoreError
from .lease import LeasedTurns
from .owner import LEASE
from .store import Row, Rows, SessionInfo, SessionInfos, conflict, row_from_json, row_to_json, utc

if TYPE_CHECKING:
    from .postgres_server import PostgresServer

_INSERT = (
    "INSERT INTO agentkit_sessions VALUES (:id, :user, :count, :now, :token)"
    " ON CONFLICT DO NOTHING RETURNING id"
)
_UPDATE = (
    "UPDATE agentkit_sessions SET length = length + :count, updated = :now, token = :token,"
    " user_id = coalesce(user_id, :user) WHERE id = :id AND length = :at RETURNING id"
)
# One statement, so that it is whole by itself and takes one round trip.
_APPEND = (
    "WITH changed AS ({change}) INSERT INTO agentkit_rows"
    " SELECT id, CAST(:at AS bigint) + number - 1, json"
    " FROM changed, unnest(CAST(:rows AS bytea[])) WITH ORDINALITY AS new (json, number)"
)
_LENGTH = "SELECT length, token FROM agentkit_sessions WHERE id = :id"
_LOAD = (
    "SELECT position, json FROM agentkit_rows WHERE session = :id AND position >= :after"
    " ORDER BY position"
)
_LIST = (
    "SELECT id, user_id, length, updated FROM agentkit_sessions WHERE {where}"
    ' ORDER BY updated DESC, id COLLATE "C"'
)
_EXPIRES = f"clock_timestamp() + interval '{LEASE} seconds'"
_TAKE = (
    f"INSERT INTO agentkit_leases AS held VALUES (:id, :owner, {_EXPIRES})"
    " ON CONFLICT (session) DO UPDATE SET owner = excluded.owner, expires = excluded.expires"
    " WHERE held.owner = excluded.owner OR held.expires < clock_timestamp()"
)
_EXTEND = f"UPDATE agentkit_leases SET expires = {_EXPIRES} WHERE session = :id AND owner = :owner"
_RELEASE = "DELETE FROM agentkit_leases WHERE session = :id AND owner = :owner"


class PostgresSessionStore:
    """Keeps sessions in tables that begin with `agentkit_`, made at first use.

    They lie in the schema that the URL's `search_path` names, else in the server's default. Turns
    are leases by the server's clock: that of a dead process is free after 15 seconds. `clock`
    returns Unix time. All methods raise `StoreError` when the server cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        from .postgres_server import PostgresServer  # loads SQLAlchemy

        self._clock = clock
        self._server = PostgresServer(url, sleep)
        self._turns = LeasedTurns(_Leases(self._server), sleep)

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        rows: Rows = []
        for position, json in await self._server.rows(_LOAD, id=id, after=after):
            try:
                rows.append(row_from_json(json))
            except ValueError as error:
                raise StoreError(f'session "{id}": row {position} is damaged') from error
        return rows

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows; raises `StoreConflict` if the session does not have `at` rows."""
        token = secrets.token_hex(16)  # a second attempt finds it if the first one got through
        texts = [row_to_json(row) for row in rows]
        change = {"count": len(rows), "now": self._clock(), "token": token, "user": user_id}
        statement = _APPEND.format(change=_UPDATE if at else _INSERT)
        if rows and await self._server.change(statement, id=id, at=at, rows=texts, **change):
            return
        found = await self._server.rows(_LENGTH, id=id)
        length, last = found[0] if found else (0, "")
        if last != token and (rows or length != at):
            raise conflict(id, at, length)

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        await self._server.change("DELETE FROM agentkit_sessions WHERE id = :id", id=id)

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        statement = "DELETE FROM agentkit_sessions WHERE user_id = :user"
        await self._server.change(statement, user=user_id)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        if user_id is None:
            found = await self._server.rows(_LIST.format(where="true"))
        else:
            found = await self._server.rows(_LIST.format(where="user_id = :user"), user=user_id)
        return [SessionInfo(id, user, length, utc(updated)) for id, user, length, updated in found]

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait, within a process in the order they came."""
        return self._turns(id)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()


class _Leases:
    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def take(self, id: str, owner: str) -> bool:
        """Give a session that is free, or is the owner's, to the owner for `LEASE` seconds."""
        return await self._server.change(_TAKE, id=id, owner=owner) == 1

    async def extend(self, id: str, owner: str) -> None:
        """Start the `LEASE` seconds of the owner's session again."""
        await self._server.change(_EXTEND, id=id, owner=owner)

    async def release(self, id: str, owner: str) -> None:
        """Free the session if it is the owner's."""
        await self._server.change(_RELEASE, id=id, owner=owner)
