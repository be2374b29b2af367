"""The thread behind a SQLite store: started once, and never taken along into another process."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from ...session import sqlite_worker
from ...session.sqlite_store import SqliteSessionStore
from .conversations import user
from .store_process import run_process

FORK = """\
import signal
signal.alarm(20)
async def add(id):
    async with store.turn(id):
        await store.append(id, [Message.user('q')], len(await store.load(id)))
async def parent(say, hear):
    await add('parent')
    process = os.fork()
    if not process:
        signal.alarm(20)
        asyncio.run(child(*pipes))
        os._exit(0)
    hear()
    await add('parent')
    await store.aclose()
    say()
    print(os.waitpid(process, 0)[1])
async def child(say, hear):
    await add('child')
    say()
    hear()
    await add('child')
    await store.aclose()
(from_child, to_parent), (from_parent, to_child) = os.pipe(), os.pipe()
pipes = lambda: os.write(to_parent, b'.'), lambda: os.read(from_parent, 1)
asyncio.run(parent(lambda: os.write(to_child, b'.'), lambda: os.read(from_child, 1)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
async def test_both_sides_of_a_fork_can_use_the_store(tmp_path: Path) -> None:
    """Nothing hangs, and what one side writes survives that the other closes the file."""
    process = run_process(FORK, tmp_path / "sessions.db")
    assert process.communicate()[0] == "0\n"
    store = SqliteSessionStore(tmp_path / "sessions.db")
    rows = {id: await store.load(id) for id in ("parent", "child")}
    await store.aclose()
    assert rows == {"parent": [user("q")] * 2, "child": [user("q")] * 2}


def test_threads_share_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that use the store for the first time at once do not start two."""
    store = SqliteSessionStore(tmp_path / "sessions.db")
    inside, made = threading.Barrier(2), []

    class Queue(SimpleQueue[Any]):
        def __init__(self) -> None:
            made.append(self)
            with suppress(threading.BrokenBarrierError):
                inside.wait(0.05)  # for the other one, which must not come

    monkeypatch.setattr(sqlite_worker, "SimpleQueue", Queue)
    users = [threading.Thread(target=lambda: asyncio.run(_list(store))) for _ in range(2)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(5)
    asyncio.run(store.aclose())
    assert len(made) == 1


async def _list(store: SqliteSessionStore) -> None:
    await store.list()
