"""The contract of session stores, kept by a real PostgreSQL: runs if `TEST_DATABASE_URL` names one.

Tables are made in a schema of their own for each test, and dropped after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ...session.postgres_store import PostgresSessionStore
from .live_postgres import URL, fresh_schema
from .test_store import *  # noqa: F403  (the contract)
from .test_store import Clock, MakeStore

__test__ = URL != ""


@pytest.fixture
def make_store(loopback: None) -> Iterator[MakeStore]:
    with fresh_schema() as url:

        def make(folder: Path, clock: Clock) -> PostgresSessionStore:
            return PostgresSessionStore(url, clock=clock)

        yield make
