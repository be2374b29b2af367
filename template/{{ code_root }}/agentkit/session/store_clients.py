"""Connections to a server that keeps sessions: one client per event loop, renewed when lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from ..errors import AgentkitError, ConfigError, StoreError
from ..observability.redact import add_url_secrets, mask
from ..retry import Backoff

ATTEMPTS = 3  # of each piece of work, as long as the connection is what fails
PAUSE = 0.3  # seconds before the second attempt, twice that before the third
TIMEOUT = 10.0  # seconds for a connection, and for the reply to one request
CONNECTIONS = 20  # to the server, per event loop; what needs one more waits

Client = TypeVar("Client")
T = TypeVar("T")


class Driver(Protocol[Client]):
    """What is particular to a kind of server."""

    def open(self) -> Client:
        """Return a client, which connects when it is used."""
        ...

    async def prepare(self, client: Client) -> None:
        """Make sure that the server has what the store needs."""
        ...

    async def close(self, client: Client) -> None:
        """Close the client's connections."""
        ...

    def failure(self, error: Exception) -> Failure:
        """Return what an error of the client means."""
        ...


class Failure(NamedTuple):
    """What went wrong, and whether it was the connection, so that a new one may do."""

    text: str
    lost: bool


class _Entry(Generic[Client]):
    def __init__(self, client: Client) -> None:
        self.client = client
        self.lock = asyncio.Lock()
        self.ready = False


class StoreClients(Generic[Client]):
    """Runs work with a client; `address` is what errors call the server."""

    def __init__(
        self,
        driver: Driver[Client],
        address: str,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._driver = driver
        self._address = address
        self._backoff = Backoff(base=PAUSE, sleep=sleep)
        self._entries: dict[asyncio.AbstractEventLoop, _Entry[Client]] = {}

    async def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do the work and return its result; it must bear being done twice.

        Raises `StoreError` when the server cannot be reached or refuses.
        """
        attempt = 1
        while True:
            try:
                return await work(await self._client())
            except AgentkitError:
                raise
            except Exception as error:
                failure = self._driver.failure(error)
                if attempt == ATTEMPTS or not failure.lost:
                    raise self._store_error(failure) from error
            await self._backoff.sleep(self._backoff.delay(attempt))
            attempt += 1

    async def aclose(self) -> None:
        """Close the running loop's connections; those of loops that are gone went with them."""
        entry = self._entries.pop(asyncio.get_running_loop(), None)
        if entry:
            await self._driver.close(entry.client)

    async def _client(self) -> Client:
        loop = asyncio.get_running_loop()
        entry = self._entries.get(loop)
        if entry is None:
            alive = {known: kept for known, kept in self._entries.items() if not known.is_closed()}
            entry = alive[loop] = _Entry(self._driver.open())
            self._entries = alive
        if not entry.ready:
            async with entry.lock:
                if not entry.ready:
                    await self._driver.prepare(entry.client)
                    entry.ready = True
        return entry.client

    def _store_error(self, failure: Failure) -> StoreError:
        advice = ": check that it runs and that the URL is right" if failure.lost else ""
        return StoreError(f"session store {self._address}: {mask(failure.text)}{advice}")


def check_url(url: str, schemes: tuple[str, ...]) -> str:
    """Return a URL without what may be secret in it, and remember its password as one.

    Raises `ConfigError`, which does not show the URL, if it is none of these `schemes`.
    """
    try:
        parts = urlsplit(url)
        scheme = parts.scheme if "," in parts.netloc or parts.port != 0 else ""
    except ValueError:  # no port but a piece of a password, for example
        scheme = ""
    # Without the slashes a driver would take what it finds on this machine.
    if scheme not in schemes or not url.lower().startswith(f"{scheme}://"):
        raise ConfigError(
            f"the URL of a session store must be {' or '.join(f'{name}://' for name in schemes)}"
            "user@host:port/name; encode what is special in a password (/ is %2F)"
        )
    if parts.password or parts.query:
        add_url_secrets(url)
    rest = url.partition("://")[2].rpartition("@")[2]
    return f"{scheme}://{re.split('[?&#]', rest)[0]}"
