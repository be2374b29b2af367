"""A PostgreSQL server for tests: the one that `TEST_DATABASE_URL` names."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

URL = os.environ.get("TEST_DATABASE_URL", "")


@contextmanager
def fresh_schema(url: str = URL) -> Iterator[str]:
    """Give the URL of an empty schema, which is dropped with what is in it."""
    name = f"agentkit_test_{secrets.token_hex(8)}"
    separator = "&" if "?" in url else "?"
    asyncio.run(execute(url, f"CREATE SCHEMA {name}"))
    yield f"{url}{separator}search_path={name}"
    asyncio.run(execute(url, f"DROP SCHEMA {name} CASCADE"))


async def execute(url: str, statement: str) -> int:
    """Run a statement past the store, and return how many rows it changed or found."""
    engine = create_async_engine(
        "postgresql+asyncpg://", connect_args={"dsn": url}, isolation_level="AUTOCOMMIT"
    )
    async with engine.connect() as connection:
        count = (await connection.execute(text(statement))).rowcount
    await engine.dispose()
    return count
