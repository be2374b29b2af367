"""A Redis server for tests: the one that `TEST_REDIS_URL` names."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

URL = os.environ.get("TEST_REDIS_URL", "")


@contextmanager
def fresh_prefix(url: str = URL) -> Iterator[str]:
    """Give a prefix that no other key has, and remove what was stored under it."""
    prefix = f"agentkit-test-{secrets.token_hex(8)}"
    yield prefix
    asyncio.run(_clear(url, prefix))


async def _clear(url: str, prefix: str) -> None:
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        keys = [key async for key in client.scan_iter(f"{prefix}:*", count=10_000)]
        if keys:
            await client.delete(*keys)
