"""The contract of session stores, kept by a real Redis: runs if `TEST_REDIS_URL` names one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ...session.redis_store import RedisSessionStore
from .live_redis import URL, fresh_prefix
from .test_store import *  # noqa: F403  (the contract)
from .test_store import Clock, MakeStore

__test__ = URL != ""


@pytest.fixture
def make_store(loopback: None) -> Iterator[MakeStore]:
    with fresh_prefix() as prefix:

        def make(folder: Path, clock: Clock) -> RedisSessionStore:
            return RedisSessionStore(URL, max_messages=None, prefix=prefix, clock=clock)

        yield make
