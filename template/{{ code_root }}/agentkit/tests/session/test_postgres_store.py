"""What needs no server; test_postgres_contract.py has the rest."""

from __future__ import annotations

import asyncio

import pytest

from ...errors import ConfigError, StoreError
from ...session.postgres_store import PostgresSessionStore


async def test_a_server_that_is_not_there_is_one_clear_error(loopback: None) -> None:
    """After three attempts, with the address and without the password."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    url = "postgresql://ann:hunter22@127.0.0.1:1/app?channel_binding=require&sslmode=disable"
    store = PostgresSessionStore(url, sleep=sleep)
    with pytest.raises(
        StoreError, match=r"^session store postgresql://127.0.0.1:1/app: "
    ) as caught:
        await store.load("s")
    await store.aclose()
    assert "\n" not in str(caught.value)
    assert "hunter22" not in str(caught.value)
    assert len(slept) == 2


def test_another_servers_url_is_refused() -> None:
    """The kinds that are known are named."""
    with pytest.raises(ConfigError, match="must be postgresql:// or postgres://"):
        PostgresSessionStore("mysql://localhost/app")
