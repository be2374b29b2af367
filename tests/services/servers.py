"""The servers that these tests need: those of this machine, or the ones that the environment names.

Without a server its tests are skipped; where `CI` is set they fail, so that none is lost unseen.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from agentkit.tests.session.live_postgres import fresh_schema
from agentkit.tests.session.live_redis import fresh_prefix

REDIS = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/15"
POSTGRES = os.environ.get("TEST_DATABASE_URL") or "postgresql://postgres@127.0.0.1:5432/test"


def need(url: str, default_port: int) -> None:
    """Skip the test, or fail it in CI, unless somebody listens where the URL says."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or default_port
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"no server at {host}:{port}: {error}"
        )


@contextmanager
def redis_prefix() -> Iterator[str]:
    """Give a prefix of one's own in Redis."""
    need(REDIS, 6379)
    with fresh_prefix(REDIS) as prefix:
        yield prefix


@contextmanager
def postgres_url() -> Iterator[str]:
    """Give the URL of a schema of one's own in PostgreSQL."""
    need(POSTGRES, 5432)
    with fresh_schema(POSTGRES) as url:
        yield url
