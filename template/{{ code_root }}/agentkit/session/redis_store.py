"""Sessions in Redis: a fast working memory that many processes share."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, StoreError
from ..observability.redact import exception_text
from . import redis_scripts as scripts
from .lease import LeasedTurns
from .owner import LEASE
from .store import (
    TRIMMED,
    Compaction,
    Row,
    Rows,
    SessionInfo,
    SessionInfos,
    conflict,
    row_from_json,
    row_to_json,
    utc,
)
from .store_clients import CONNECTIONS, TIMEOUT, Failure, StoreClients, check_url

if TYPE_CHECKING:
    from redis.asyncio import Redis

VERSION = 1  # of the keys and what they hold
DAY = 86_400.0
_LEASE = int(LEASE * 1000)


class RedisSessionStore:
    """Keeps the newest `max_messages` rows of a session, for `ttl` seconds after its last change.

    None means all of them, and for ever. A session goes on with what is left of it: older rows
    are loaded as `TRIMMED`, so that indices stay right. Whether anything outlives the server is
    the server's setting. All keys begin with `prefix`; a Redis Cluster is not supported. `clock`
    returns Unix time. All methods raise `StoreError` when the server cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        ttl: float | None = 7 * DAY,
        max_messages: int | None = 1_000,
        prefix: str = "agentkit",
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._ttl = int(_limit("ttl", ttl, 0.001) * 1000)
        self._newest = int(_limit("max_messages", max_messages, 1))
        self._prefix = prefix
        self._clock = clock
        address = check_url(url, ("redis", "rediss", "unix"))
        self._server = StoreClients(_Driver(url, f"{prefix}:version"), address, sleep)
        self._turns = LeasedTurns(_Leases(self._server, f"{prefix}:turn:"), sleep)

    async def load(self, id: str, after: int = 0) -> Rows:
        """Return the rows from index `after` on; an unknown session has none."""
        first, texts = await _run(self._server, scripts.LOAD, self._keys(id), after)
        rows: Rows = []
        for position, text in enumerate(texts, max(first, after)):
            try:
                rows.append(row_from_json(text))
            except ValueError as error:
                raise StoreError(f'session "{id}": row {position} is damaged') from error
        return rows if after >= first else _window(rows, first - after)

    async def append(
        self, id: str, rows: Sequence[Row], at: int, user_id: str | None = None
    ) -> None:
        """Append the rows; raises `StoreConflict` if the session does not have `at` rows."""
        token = secrets.token_hex(16)  # a second attempt finds it if the first one got through
        user = "" if user_id is None else f"u{user_id}"
        settings = (token, repr(self._clock()), self._ttl, self._newest, self._user_index(""), user)
        texts = [row_to_json(row) for row in rows]
        keys = [*self._keys(id), self._index]
        length = await _run(self._server, scripts.APPEND, keys, id, at, *settings, *texts)
        if length >= 0:
            raise conflict(id, at, length)

    async def delete(self, id: str) -> None:
        """Forget a session; an unknown one is no error."""
        keys = [*self._keys(id), self._index]
        await _run(self._server, scripts.DELETE, keys, id, self._user_index(""))

    async def delete_user(self, user_id: str) -> None:
        """Forget all sessions of a user."""
        for id in await self._ids(self._user_index(user_id)):
            await self.delete(id)

    async def list(self, user_id: str | None = None) -> SessionInfos:
        """Return the sessions of a user, or of all, the last changed one first."""
        ids = await self._ids(self._index if user_id is None else self._user_index(user_id))

        async def read(client: Redis) -> Any:
            async with client.pipeline(transaction=False) as requests:
                for id in ids:
                    requests.hmget(self._keys(id)[1], "user", "length", "updated")
                return await requests.execute()

        found = [
            SessionInfo(id, user and user.decode(), int(length), utc(float(updated)))
            for id, (user, length, updated) in zip(ids, await self._server.run(read), strict=True)
            if length is not None  # else it has expired
        ]
        return sorted(found, key=lambda info: (-info.updated.timestamp(), info.id))

    def turn(self, id: str) -> AbstractAsyncContextManager[None]:
        """Hold the session for one turn; others wait, within a process in the order they came."""
        return self._turns(id)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()

    async def _ids(self, index: str) -> Sequence[str]:
        async def read(client: Redis) -> Any:
            return await client.zrange(index, 0, -1)

        return [id.decode() for id in await self._server.run(read)]

    @property
    def _index(self) -> str:
        return f"{self._prefix}:sessions"

    def _user_index(self, user_id: str) -> str:
        return f"{self._prefix}:user:{user_id}"

    def _keys(self, id: str) -> tuple[str, str]:
        return f"{self._prefix}:rows:{id}", f"{self._prefix}:meta:{id}"


class _Leases:
    def __init__(self, server: StoreClients[Redis], prefix: str) -> None:
        self._server = server
        self._prefix = prefix

    async def take(self, id: str, owner: str) -> bool:
        """Give a session that is free, or is the owner's, to the owner for `LEASE` seconds."""
        return bool(await _run(self._server, scripts.TAKE, [self._prefix + id], owner, _LEASE))

    async def extend(self, id: str, owner: str) -> None:
        """Start the `LEASE` seconds of the owner's session again."""
        await _run(self._server, scripts.EXTEND, [self._prefix + id], owner, _LEASE)

    async def release(self, id: str, owner: str) -> None:
        """Free the session if it is the owner's."""
        await _run(self._server, scripts.RELEASE, [self._prefix + id], owner)


class _Driver:
    def __init__(self, url: str, version_key: str) -> None:
        self._url = url
        self._version_key = version_key

    def open(self) -> Redis:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        try:
            pool = BlockingConnectionPool.from_url(
                self._url,
                max_connections=CONNECTIONS,
                timeout=TIMEOUT,
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=Retry(NoBackoff(), 0),  # `StoreClients` tries again
            )
        except (ValueError, TypeError):  # their texts may quote the password
            raise ConfigError(
                "the URL of the Redis server is wrong: use redis://user:password@host:port/number"
            ) from None
        return Redis.from_pool(pool)

    async def prepare(self, client: Redis) -> None:
        await client.set(self._version_key, VERSION, nx=True)
        found = int(await client.get(self._version_key) or VERSION)
        if found > VERSION:
            raise ConfigError(
                f"the session store in Redis has version {found}, this agentkit knows {VERSION}: "
                "update agentkit or use another prefix"
            )

    async def close(self, client: Redis) -> None:
        await client.aclose()

    def failure(self, error: Exception) -> Failure:
        from redis import AuthenticationError, ConnectionError

        lost = isinstance(error, ConnectionError) and not isinstance(error, AuthenticationError)
        return Failure(exception_text(error), lost)


async def _run(
    server: StoreClients[Redis], script: str, keys: Sequence[str], *arguments: Any
) -> Any:
    async def run(client: Redis) -> Any:
        return await client.register_script(script)(keys=keys, args=arguments)

    return await server.run(run)


def _limit(name: str, value: float | None, least: float) -> float:
    """Return the limit, 0 for none; raises `ConfigError` for one that leaves nothing."""
    if value is not None and not value >= least:
        raise ConfigError(f"{name} is {value!r}: use a number of at least {least}, or None")
    return value or 0


def _window(rows: Rows, missing: int) -> Rows:
    """Return the rows that are left, without the beginning that makes no sense alone.

    That is an answer whose question was trimmed; a window without any question stays as it is.
    """
    whole = list(dropwhile(_continues, rows)) or rows
    return [TRIMMED] * (missing + len(rows) - len(whole)) + whole


def _continues(row: Row) -> bool:
    return not isinstance(row, Compaction) and row.role != "user"
