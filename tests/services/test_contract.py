"""The contract of session stores, kept by those that need a server, alone and in layers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentkit.session.layered_store import LayeredSessionStore
from agentkit.session.postgres_store import PostgresSessionStore
from agentkit.session.redis_store import RedisSessionStore
from agentkit.session.store import SessionStore
from agentkit.tests.session.test_store import *  # noqa: F403  (the contract)
from agentkit.tests.session.test_store import Clock, MakeStore

from .servers import REDIS, postgres_url, redis_prefix


@pytest.fixture(params=["redis", "postgres", "layered"])
def make_store(request: pytest.FixtureRequest, loopback: None) -> Iterator[MakeStore]:
    kind = request.param
    with ExitStack() as servers:
        prefix = servers.enter_context(redis_prefix()) if kind != "postgres" else ""
        url = servers.enter_context(postgres_url()) if kind != "redis" else ""

        def make(folder: Path, clock: Clock) -> SessionStore:
            if kind == "postgres":
                return PostgresSessionStore(url, clock=clock)
            redis = RedisSessionStore(REDIS, max_messages=None, prefix=prefix, clock=clock)
            if kind == "redis":
                return redis
            return LayeredSessionStore(redis, PostgresSessionStore(url, clock=clock))

        yield make
