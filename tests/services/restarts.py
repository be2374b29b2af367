"""Stops and starts a Redis and a PostgreSQL of its own under load.

`python -m tests.services.restarts`. Twenty writers append numbers to sessions of their own. Who
gets a `StoreError` reads what is stored and goes on from there, as an agent's next turn does. At
the end every number must be there once, in order. Needs `redis-server` and PostgreSQL's programs;
as root, it runs the latter as the user postgres.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "template" / "{{ code_root }}"))

from agentkit.errors import StoreError
from agentkit.messages import Message
from agentkit.session.layered_store import LayeredSessionStore
from agentkit.session.postgres_store import PostgresSessionStore
from agentkit.session.redis_store import RedisSessionStore
from agentkit.session.store import SessionStore

WRITERS = 20
STOPS = ((signal.SIGTERM, 0.3), (signal.SIGKILL, 2.5), (signal.SIGTERM, 2.5))  # and seconds away
REDIS_PORT, POSTGRES_PORT = 6399, 5499


class Server:
    """A server process that can be stopped and started again with what it has on disk."""

    def __init__(self, command: list[str], user: str | None = None) -> None:
        self._command = command
        self._user = user
        self.start()

    def start(self) -> None:
        """Start it; it may take a moment to answer."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            self._command, stdout=quiet, stderr=quiet, user=self._user, cwd="/"
        )

    def stop(self, how: signal.Signals) -> None:
        """End it and wait until it is gone."""
        fast = self._command[0].endswith("postgres") and how == signal.SIGTERM
        self._process.send_signal(signal.SIGINT if fast else how)
        self._process.wait()


def redis_server(folder: Path) -> Server:
    """Start a Redis that writes every change to disk."""
    lasting = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
    return Server(["redis-server", "--port", str(REDIS_PORT), "--dir", str(folder), *lasting])


def postgres_server(folder: Path) -> Server:
    """Make a PostgreSQL cluster and start it."""
    found = shutil.which("postgres") or max(
        map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    )
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    initdb = [
        str(Path(found).with_name("initdb")),
        "-A",
        "trust",
        "-U",
        "postgres",
        "-D",
        str(folder),
    ]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, user=user, cwd="/")
    return Server([found, "-D", str(folder), "-p", str(POSTGRES_PORT), "-k", str(folder)], user)


class Load:
    """The writers, and what they met."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.errors: Counter[str] = Counter()
        self.longest = 0.0
        self.written = [0] * WRITERS
        self.over = False

    async def write(self, writer: int) -> None:
        """Append numbers until the load is over, each once the one before is known to be stored."""
        id, at = f"session {writer}", 0
        while not self.over or at == 0:
            began = time.monotonic()
            try:
                await self.store.append(id, [Message.user(str(at))], at)
                at += 1
            except StoreError as error:
                self.errors[str(error)] += 1
                at = await self._stored(id, at)
            self.longest = max(self.longest, time.monotonic() - began)
        self.written[writer] = at

    async def _stored(self, id: str, at: int) -> int:
        while True:
            try:
                return at + len(await self.store.load(id, at))
            except StoreError as error:
                self.errors[str(error)] += 1
                await asyncio.sleep(0.1)

    async def check(self) -> int:
        """Return how many messages are stored; each must be there once, in order."""
        for writer, count in enumerate(self.written):
            rows = await self.store.load(f"session {writer}")
            texts = [row.text for row in rows if isinstance(row, Message)]
            assert texts == [str(number) for number in range(count)], f"writer {writer}"
        return sum(self.written)


async def run(name: str, store: SessionStore, servers: list[Server]) -> None:
    """Stop and start each server under load, and say what came of it."""
    load = Load(store)
    writers = [asyncio.create_task(load.write(writer)) for writer in range(WRITERS)]
    await asyncio.sleep(2)
    for how, away in STOPS:
        for server in servers:
            await asyncio.to_thread(server.stop, how)
            await asyncio.sleep(away)
            server.start()
            await asyncio.sleep(1.5)
    load.over = True
    await asyncio.gather(*writers)
    stored = await load.check()
    await store.aclose()
    print(f"\n{name}: {stored} messages, none lost, none twice; {load.errors.total()} StoreErrors;")
    print(f"  longest until the next message was stored or refused: {load.longest:.1f} s")
    for text, count in load.errors.most_common(6):
        print(f"  {count} x {text}")


def redis_store() -> SessionStore:
    """Return a store on the Redis of this program."""
    return RedisSessionStore(f"redis://127.0.0.1:{REDIS_PORT}/0", max_messages=None)


def postgres_store() -> SessionStore:
    """Return a store on the PostgreSQL of this program."""
    return PostgresSessionStore(f"postgresql://postgres@127.0.0.1:{POSTGRES_PORT}/postgres")


def layered_store() -> SessionStore:
    """Return one on both, in databases of their own."""
    redis = RedisSessionStore(f"redis://127.0.0.1:{REDIS_PORT}/1", max_messages=None)
    url = f"postgresql://postgres@127.0.0.1:{POSTGRES_PORT}/template1"
    return LayeredSessionStore(redis, PostgresSessionStore(url))


def main() -> None:
    """Run all of it."""
    with tempfile.TemporaryDirectory() as redis, tempfile.TemporaryDirectory() as postgres:
        os.chmod(postgres, 0o700)
        servers = [redis_server(Path(redis)), postgres_server(Path(postgres))]
        time.sleep(2)
        plans: list[tuple[str, Callable[[], SessionStore], list[Server]]] = [
            ("Redis", redis_store, servers[:1]),
            ("PostgreSQL", postgres_store, servers[1:]),
            ("both in layers, Redis stopped", layered_store, servers[:1]),
        ]
        try:
            for name, make, stopped in plans:
                asyncio.run(run(name, make(), stopped))
        finally:
            for server in servers:
                server.stop(signal.SIGKILL)


if __name__ == "__main__":
    main()
