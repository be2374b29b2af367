from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ...errors import ConfigError, StoreError
from ...messages import Message
from ...session import sqlite_schema
from ...session.owner import LEASE
from ...session.sqlite_store import SqliteSessionStore
from .conversations import user
from .store_process import run_process

posix = pytest.mark.skipif(os.name != "posix", reason="process ids are checked on POSIX only")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteSessionStore]:
    made = SqliteSessionStore(path)
    yield made
    await made.aclose()


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.slept = 0
        self.slept_thrice = asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        if self.slept == 3:
            self.slept_thrice.set()
        await asyncio.sleep(0)


async def never(seconds: float) -> None:
    """A sleep that does not end: what waits for it does not happen."""
    await asyncio.Event().wait()


async def test_making_a_store_touches_nothing(path: Path) -> None:
    """The file is opened with the first use, and closing an unused store is fine."""
    before = threading.active_count()
    await SqliteSessionStore(path).aclose()
    assert not path.parent.exists()
    assert threading.active_count() == before


async def test_the_file_is_for_its_owner_only(store: SqliteSessionStore, path: Path) -> None:
    """Conversations are private, also in the files that SQLite keeps beside its own."""
    await store.append("s", [user("secret")], 0)
    files = list(path.parent.glob(f"{path.name}*"))
    assert len(files) == 3
    if os.name == "posix":
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_a_new_folder_is_hidden_from_git(store: SqliteSessionStore, path: Path) -> None:
    """Sessions are not committed by accident."""
    await store.append("s", [user("secret")], 0)
    assert _read(path.parent / ".gitignore") == "*\n"


async def test_a_folder_that_was_there_is_left_alone(tmp_path: Path) -> None:
    """It may hold files that are meant to be committed."""
    store = SqliteSessionStore(tmp_path / "sessions.db")
    await store.list()
    await store.aclose()
    assert not (tmp_path / ".gitignore").exists()


async def test_a_closed_store_opens_again(store: SqliteSessionStore) -> None:
    """Closing loses nothing."""
    await store.append("s", [user("q")], 0)
    await store.aclose()
    assert await store.load("s") == [user("q")]


async def test_the_thread_ends_with_the_store(path: Path) -> None:
    """A closed store leaves no thread behind."""
    store = SqliteSessionStore(path)
    before = set(threading.enumerate())
    await store.list()
    (thread,) = set(threading.enumerate()) - before
    await store.aclose()
    thread.join(5)
    assert not thread.is_alive()


async def test_a_newer_file_is_refused(store: SqliteSessionStore, path: Path) -> None:
    """What a later version wrote is not touched by an earlier one."""
    path.parent.mkdir()
    database = sqlite3.connect(path)
    newer = len(sqlite_schema.STEPS) + 1
    database.execute(f"PRAGMA user_version = {newer}")
    database.close()
    with pytest.raises(ConfigError, match=rf"has version {newer}.*update agentkit"):
        await store.list()


async def test_an_older_file_is_upgraded(
    store: SqliteSessionStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version adds its steps to a file that is there, and loses nothing of it."""
    await store.append("s", [user("q")], 0)
    await store.aclose()
    steps = (*sqlite_schema.STEPS, ("ALTER TABLE sessions ADD COLUMN title TEXT",))
    monkeypatch.setattr(sqlite_schema, "STEPS", steps)
    assert await store.load("s") == [user("q")]
    await store.aclose()
    database = sqlite3.connect(path)
    assert database.execute("SELECT title FROM sessions").fetchall() == [(None,)]
    assert database.execute("PRAGMA user_version").fetchone() == (len(steps),)
    database.close()


async def test_a_foreign_database_is_refused(store: SqliteSessionStore, path: Path) -> None:
    """Sessions are not mixed into another program's tables."""
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE invoices (id)")
    database.close()
    with pytest.raises(ConfigError, match="another program's database"):
        await store.append("s", [user("q")], 0)


async def test_a_file_that_is_no_database_is_refused(store: SqliteSessionStore, path: Path) -> None:
    """The error names the file and what to do, and the file stays as it is."""
    path.parent.mkdir()
    _write(path, "dear diary, " * 100)
    with pytest.raises(StoreError, match=r"sessions\.db: file is not a database: .*another path"):
        await store.list()
    assert _read(path) == "dear diary, " * 100


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def test_a_path_that_cannot_be_opened_is_one_clear_error(tmp_path: Path) -> None:
    """The error names the path."""
    store = SqliteSessionStore(tmp_path)
    with pytest.raises(StoreError, match=r"session store .*: check the path"):
        await store.list()
    await store.aclose()


async def test_a_damaged_row_is_one_clear_error(store: SqliteSessionStore, path: Path) -> None:
    """The error says which row."""
    await store.append("s", [user("q"), user("r")], 0)
    await store.aclose()
    database = sqlite3.connect(path)
    database.execute("UPDATE session_rows SET json = x'7b' WHERE position = 1")
    database.commit()
    database.close()
    with pytest.raises(StoreError, match='session "s": row 1 is damaged'):
        await store.load("s")


async def test_a_full_disk_leaves_nothing_half_written(store: SqliteSessionStore) -> None:
    """What fits is stored, what does not is refused as a whole, and the store goes on."""
    await store.append("s", [user("q")], 0)
    await store._worker.post(lambda database: _allow_pages(database, 40), writes=False)
    with pytest.raises(StoreError, match="disk is full, free some space; nothing was changed"):
        await store.append("s", [user("small"), user("x" * 1_000_000)], 1)
    await store.append("s", [user("still works")], 1)
    assert await store.load("s") == [user("q"), user("still works")]


async def test_one_append_that_fails_does_not_take_others_with_it(
    store: SqliteSessionStore,
) -> None:
    """Appends that share a transaction succeed or fail on their own."""
    await store.list()
    await store._worker.post(lambda database: _allow_pages(database, 60), writes=False)
    appends = [
        store.append("a", [user("fits")], 0),
        store.append("b", [user("x" * 1_000_000)], 0),
        store.append("c", [user("fits too")], 0),
    ]
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), StoreError, type(None)]
    assert {info.id for info in await store.list()} == {"a", "c"}


def _allow_pages(database: sqlite3.Connection, pages: int) -> None:
    database.execute(f"PRAGMA max_page_count = {pages}")


async def test_a_locked_file_is_one_clear_error(store: SqliteSessionStore, path: Path) -> None:
    """Another program that never lets go costs an error, not a hang."""
    await store.list()
    await store._worker.post(_do_not_wait, writes=False)
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreError, match="another program keeps it locked"):
            await store.append("s", [user("q")], 0)
    finally:
        other.close()
    await store.append("s", [user("q")], 0)


def _do_not_wait(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA busy_timeout = 0")


async def test_a_cancelled_append_that_waited_is_not_made(path: Path) -> None:
    """Nobody hears of its outcome, so the work is dropped where it still can be."""
    store = SqliteSessionStore(path)
    release = threading.Event()
    blocker = store._worker.post(lambda database: release.wait(5), writes=False)
    append = asyncio.ensure_future(store.append("s", [user("q")], 0))
    await asyncio.sleep(0)
    append.cancel()
    await asyncio.gather(append, return_exceptions=True)
    release.set()
    await blocker
    assert await store.load("s") == []
    await store.aclose()


async def test_a_turn_waits_for_that_of_another_store(path: Path) -> None:
    """Two stores on one file, as in two processes, take turns."""
    time = Time()
    first = SqliteSessionStore(path, time, never)
    second = SqliteSessionStore(path, time, time.sleep)
    events: list[str] = []

    async def wait() -> None:
        async with second.turn("s"):
            events.append("second")

    async with first.turn("s"):
        waiter = asyncio.create_task(wait())
        await time.slept_thrice.wait()
        events.append("first")
    await waiter
    assert events == ["first", "second"]
    await first.aclose()
    await second.aclose()


async def test_a_turn_without_a_sign_of_life_is_taken_over(path: Path) -> None:
    """A process that hangs, or a machine that is gone, holds a session for 15 seconds."""
    time = Time()
    first = SqliteSessionStore(path, time, never)
    second = SqliteSessionStore(path, time, time.sleep)
    started = time.now
    async with first.turn("s"), second.turn("s"):
        assert time.now >= started + LEASE
    await first.aclose()
    await second.aclose()


async def test_a_turn_is_renewed_while_it_is_held(path: Path) -> None:
    """A long turn is not taken for a dead one."""
    time = Time()
    first = SqliteSessionStore(path, time, time.sleep)
    async with first.turn("s"):
        started = time.now
        while time.now < started + 3 * LEASE:
            await first.list()
        expires = await first._worker.post(_expiry, writes=False)
        assert expires > time.now
    await first.aclose()


def _expiry(database: sqlite3.Connection) -> float:
    expires: float = database.execute("SELECT expires FROM leases").fetchone()[0]
    return expires


@posix
async def test_kill_9_leaves_whole_appends(store: SqliteSessionStore, path: Path) -> None:
    """After a kill in the middle of writing, the file is intact and holds no half append."""
    script = (
        "async def main():\n"
        "    for at in range(0, 10**6, 2):\n"
        "        rows = [Message.user('x' * 5000), Message.assistant(str(at))]\n"
        "        await store.append('s', rows, at)\n"
        "        if at == 100: print('busy', flush=True)\n"
        "asyncio.run(main())\n"
    )
    process = run_process(script, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    rows = await store.load("s")
    assert len(rows) > 100
    assert rows[1::2] == [Message.assistant(str(at)) for at in range(0, len(rows), 2)]
    await store.append("s", [user("goes on")], len(rows))
