"""The PostgreSQL server of a session store: connections, tables, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ..errors import ConfigError
from ..observability.redact import error_message, exception_text
from .store_clients import CONNECTIONS, TIMEOUT, Failure, StoreClients, check_url

# What brings the tables from each version to the next; agentkit_version holds the number of theirs.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE agentkit_sessions (id text PRIMARY KEY, user_id text, length bigint NOT NULL,"
        " updated double precision NOT NULL, token text NOT NULL)",
        "CREATE INDEX agentkit_sessions_by_user ON agentkit_sessions (user_id)",
        "CREATE TABLE agentkit_rows (session text NOT NULL REFERENCES agentkit_sessions"
        " ON DELETE CASCADE, position bigint NOT NULL, json bytea NOT NULL,"
        " PRIMARY KEY (session, position))",
        "CREATE TABLE agentkit_leases (session text PRIMARY KEY, owner text NOT NULL,"
        " expires timestamptz NOT NULL)",
    ),
)
_LOCK = 4_246_172_663  # any number: whoever prepares the tables holds the advisory lock with it
_LOST = ("08", "57P01", "57P02", "57P03")  # no connection, shutting down, crashed, starting up


class PostgresServer:
    """Runs statements on the server, each a transaction of its own. Raises `StoreError`."""

    def __init__(self, url: str, sleep: Callable[[float], Awaitable[object]]) -> None:
        address = check_url(url, ("postgresql", "postgres", "postgresql+asyncpg"))
        self._connections = StoreClients(_Driver(url), address, sleep)

    async def rows(self, statement: str, **values: Any) -> Sequence[Any]:
        """Return the rows that a statement finds; `values` are those of its `:names`."""

        async def run(engine: AsyncEngine) -> Sequence[Any]:
            async with engine.connect() as connection:
                return (await connection.execute(text(statement), values)).all()

        return await self._connections.run(run)

    async def change(self, statement: str, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""

        async def run(engine: AsyncEngine) -> int:
            async with engine.connect() as connection:
                return (await connection.execute(text(statement), values)).rowcount

        return await self._connections.run(run)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connections.aclose()


class _Driver:
    """What `StoreClients` needs to know of PostgreSQL."""

    def __init__(self, url: str) -> None:
        # asyncpg does not know the setting that some hosts put into their URLs.
        url = re.sub(r"channel_binding=\w*&?", "", url)
        self._dsn = f"postgresql://{url.partition('://')[2]}"

    def open(self) -> AsyncEngine:
        return create_async_engine(
            "postgresql+asyncpg://",
            connect_args={"dsn": self._dsn, "timeout": TIMEOUT, "command_timeout": TIMEOUT},
            isolation_level="AUTOCOMMIT",  # every change is one statement, whole by itself
            hide_parameters=True,  # a conversation is not for error texts
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=TIMEOUT,
        )

    async def prepare(self, client: AsyncEngine) -> None:
        async with client.execution_options(isolation_level="READ COMMITTED").begin() as database:
            version = await _version(database)
            if version < len(STEPS):
                version = await _upgrade(database)
        if version > len(STEPS):
            raise ConfigError(
                f"the session store's tables have version {version}, this agentkit knows "
                f"{len(STEPS)}: update agentkit or use another database"
            )

    async def close(self, client: AsyncEngine) -> None:
        await client.dispose()

    def failure(self, error: Exception) -> Failure:
        if isinstance(error, DBAPIError):
            state = str(getattr(error.orig, "sqlstate", None) or "")
            lost = error.connection_invalidated or state.startswith(_LOST)
            return Failure(error_message(error.orig or error), lost)
        lost = isinstance(error, OSError) and not isinstance(error, TimeoutError)
        return Failure(exception_text(error), lost)


async def _version(database: AsyncConnection) -> int:
    if not await database.scalar(text("SELECT to_regclass('agentkit_version')")):
        return 0
    return await database.scalar(text("SELECT number FROM agentkit_version")) or 0


async def _upgrade(database: AsyncConnection) -> int:
    """Take the missing steps, one process at a time, and return the version."""
    await database.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    # Without this, the server would answer from a cache that the wait has made out of date.
    await database.execute(text("CREATE TABLE IF NOT EXISTS agentkit_version (number integer)"))
    version = await _version(database)
    for statement in chain.from_iterable(STEPS[version:]):
        await database.execute(text(statement))
    newest = max(version, len(STEPS))
    await database.execute(text("DELETE FROM agentkit_version"))
    await database.execute(text(f"INSERT INTO agentkit_version VALUES ({newest})"))
    return newest
