from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ...errors import ConfigError, StoreConflict, StoreError
from ...session.store_clients import Failure, StoreClients, check_url


class Lost(Exception):
    """No connection."""


class Client:
    """A connection that is made and closed, and tells in which order."""

    def __init__(self, events: list[str]) -> None:
        self.events = events


class Driver:
    """A server that refuses the first `down` requests."""

    def __init__(self, down: int = 0, error: Callable[[], Exception] = Lost) -> None:
        self.events: list[str] = []
        self.down = down
        self.error = error

    def open(self) -> Client:
        self.events.append("open")
        return Client(self.events)

    async def prepare(self, client: Client) -> None:
        await asyncio.sleep(0)
        self.refuse()
        self.events.append("prepare")

    async def close(self, client: Client) -> None:
        self.events.append("close")

    def failure(self, error: Exception) -> Failure:
        return Failure(f"it says {error}", isinstance(error, Lost))

    def refuse(self) -> None:
        if self.down:
            self.down -= 1
            raise self.error()


def clients(driver: Driver, sleeps: list[float] | None = None) -> StoreClients[Client]:
    async def sleep(seconds: float) -> None:
        (sleeps if sleeps is not None else []).append(seconds)

    return StoreClients(driver, "db://server/1", sleep)


async def test_a_client_is_made_and_prepared_once() -> None:
    """However many tasks use it first."""
    driver = Driver()
    server = clients(driver)

    async def work(client: Client) -> None:
        client.events.append("work")

    await asyncio.gather(server.run(work), server.run(work))
    await server.aclose()
    await server.aclose()
    assert driver.events == ["open", "prepare", "work", "work", "close"]


async def test_a_lost_connection_is_tried_again() -> None:
    """A server that restarts costs a moment, no error."""
    sleeps: list[float] = []
    driver = Driver(down=2)

    async def work(client: Client) -> str:
        return "done"

    assert await clients(driver, sleeps).run(work) == "done"
    first, second = sleeps
    assert 0.3 <= first < second <= 0.72


async def test_a_server_that_stays_away_is_one_clear_error() -> None:
    """After three attempts, with its address and what to check."""
    driver = Driver(down=3, error=lambda: Lost("refused"))

    async def work(client: Client) -> None:
        pytest.fail("it is not prepared")

    server = clients(driver)
    with pytest.raises(StoreError) as caught:
        await server.run(work)
    assert str(caught.value) == (
        "session store db://server/1: it says refused: check that it runs and that the URL is right"
    )


@pytest.mark.parametrize("error", [StoreConflict, KeyError], ids=["ours", "theirs"])
async def test_other_failures_are_not_tried_again(error: type[Exception]) -> None:
    """What another connection cannot change is said at once."""
    driver = Driver(down=1, error=error)

    async def work(client: Client) -> None:
        pytest.fail("it failed before")

    with pytest.raises(StoreConflict if error is StoreConflict else StoreError):
        await clients(driver).run(work)
    assert driver.down == 0


def test_each_event_loop_has_a_client_of_its_own() -> None:
    """A connection belongs to the loop that it was made in."""
    driver = Driver()
    server = clients(driver)

    async def work(client: Client) -> None:
        client.events.append("work")

    asyncio.run(server.run(work))
    asyncio.run(server.run(work))
    assert driver.events == ["open", "prepare", "work"] * 2


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:hunter22@host:1/0?password=hunter22", "redis://host:1/0"),
        ("redis://ann@[::1]:1/0", "redis://[::1]:1/0"),
        ("redis://ann:hunter22@one:1,two:2/0", "redis://one:1,two:2/0"),
        ("redis://host/0?x=a@b&password=hunter22", "redis://b"),
        ("redis://host", "redis://host"),
    ],
)
def test_errors_name_the_server_without_a_secret(url: str, shown: str) -> None:
    """The user, the password and the settings are not shown."""
    assert check_url(url, ("redis",)) == shown


@pytest.mark.parametrize(
    "url",
    [
        *("", "hunter22", "http://:hunter22@host", "redis://[:hunter22@host"),
        "redis://ann:hunter22/x@host",  # a slash that is not encoded
        *("redis:hunter22", "redis:/host:hunter22"),  # two slashes are missing
    ],
)
def test_a_url_that_is_wrong_is_refused(url: str) -> None:
    """The error says how it must be, and does not repeat what may be a password."""
    with pytest.raises(ConfigError, match="must be redis:// or rediss://user@host") as caught:
        check_url(url, ("redis", "rediss"))
    assert "hunter22" not in str(caught.value)
