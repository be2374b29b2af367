"""Sessions and where they are kept: the protocol of all stores, and the one in memory."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from ..errors import StoreConflict
from ..messages import Message


@dataclass(slots=True)
class Session:
    """One conversation: its working history, and how many rows of it the store has.

    The first `checked` messages are known to be in order, so that nobody looks at them again.
    """

    id: str
    user_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    stored: int = 0
    checked: int = field(default=0, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        messages: Sequence[Message] = (),
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Return a session with a new random id that begins with these messages."""
        return cls(secrets.token_hex(16), user_id, dict(metadata or {}), list(messages))


class Compaction(NamedTuple):
    """A marker row: these messages replace everything before it as the working history."""

    messages: tuple[Message, ...]


class SessionInfo(NamedTuple):
    """What a store knows of a session: its length in rows, and its last change in UTC."""

    id: str
    user_id: str | None
    length: int
    updated: datetime


Row = Message | Compaction
Rows = list[Row]
TRIMMED = Compaction(())  # stands for a row that a short-term store has dropped
SessionInfos = list[SessionInfo]


class SessionStore(Protocol):
    """Keeps the rows of sessions, only ever appending to them."""

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        ...

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append all rows or none; the first append decides whose session it is.

        Raises `StoreConflict` if the session does not have exactly `at` rows.
        """
        ...

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        ...

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        ...

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        ...

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait, and get it in the order they came."""
        ...

    async def aclose(self) -> None:
        """Release what the store holds open."""
        ...


def apply(session: Session, rows: Sequence[Row]) -> None:
    """Bring a session up to date with rows that follow those it has."""
    for row in rows:
        if isinstance(row, Compaction):
            session.messages, session.checked = list(row.messages), 0
        else:
            session.messages.append(row)
    session.stored += len(rows)


_COMPACTION = b'{"compaction":['


def row_to_json(row: Row) -> bytes:
    """Return a row as JSON; texts that were made before are reused."""
    if isinstance(row, Message):
        return row.to_json()
    return _COMPACTION + b",".join([message.to_json() for message in row.messages]) + b"]}"


def row_from_json(data: bytes) -> Row:
    """Return the row that `row_to_json` wrote; raises `ValueError` for anything else."""
    if not data.startswith(_COMPACTION):
        return Message.from_json(data)
    messages = json.loads(data)["compaction"]
    return Compaction(tuple([Message.from_json(json.dumps(message)) for message in messages]))


def conflict(id: str, at: int, length: int) -> StoreConflict:
    """Return the error for an append to a session that has changed."""
    return StoreConflict(
        f'session "{id}": expected {at} rows but the store has {length}, '
        "somebody else appended first: load the newer rows and try again"
    )


class Turns:
    """One turn at a time per session within one event loop, in order of arrival."""

    def __init__(self) -> None:
        # Keyed by loop, since a lock belongs to one; weak, so that only sessions in use are kept.
        self._locks: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]
        self._locks = WeakValueDictionary()

    @asynccontextmanager
    async def __call__(self, id: str) -> AsyncIterator[None]:
        """Wait for the session, then hold it."""
        lock = self._locks.setdefault((asyncio.get_running_loop(), id), asyncio.Lock())
        async with lock:
            yield


@dataclass(slots=True)
class _Stored:
    user_id: str | None
    updated: float
    rows: list[Row] = field(default_factory=list)


class MemorySessionStore:
    """Keeps sessions in this process for as long as it lives. `clock` returns Unix time."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sessions: dict[str, _Stored] = {}
        self._turns = Turns()

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        stored = self._sessions.get(id)
        return stored.rows[after:] if stored else []

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows; raises `StoreConflict` if the session does not have `at` rows."""
        stored = self._sessions.get(id)
        length = len(stored.rows) if stored else 0
        if length != at:
            raise conflict(id, at, length)
        if not rows:
            return
        stored = self._sessions.setdefault(id, _Stored(user_id, 0.0))
        stored.user_id = user_id if stored.user_id is None else stored.user_id
        stored.updated = self._clock()
        stored.rows.extend(rows)

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        self._sessions.pop(id, None)

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        for info in await self.list(user_id):
            await self.delete(info.id)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        found = [
            SessionInfo(id, stored.user_id, len(stored.rows), utc(stored.updated))
            for id, stored in self._sessions.items()
            if user_id is None or stored.user_id == user_id
        ]
        return sorted(found, key=lambda info: (-info.updated.timestamp(), info.id))

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait, and get it in the order they came."""
        return self._turns(id)

    async def aclose(self) -> None:
        """Do nothing: the sessions stay."""


def utc(seconds: float) -> datetime:
    """Return Unix time as a datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
