"""The tables of the SQLite store, and how a file gets them."""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from sqlite3 import Connection

# What brings a file from each version to the next; files hold the number of theirs.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, user_id TEXT, length INTEGER NOT NULL,"
        " updated REAL NOT NULL)",
        "CREATE INDEX sessions_by_user ON sessions (user_id)",
        "CREATE TABLE session_rows (session TEXT NOT NULL, position INTEGER NOT NULL,"
        " json BLOB NOT NULL, PRIMARY KEY (session, position))",
        "CREATE TABLE leases (session TEXT PRIMARY KEY, owner TEXT NOT NULL,"
        " expires REAL NOT NULL)",
    ),
)


def prepare(database: Connection) -> None:
    """Make the tables of a new file, and bring an older one up to date.

    Raises `ConfigError` for a file of a later version or of another program.
    """
    newest = len(STEPS)
    if _version(database) < newest:
        _use_wal(database)
        database.execute("BEGIN IMMEDIATE")
        version = _version(database)  # another process may have been faster
        if version == 0 and database.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise ConfigError("the session store's file is another program's database")
        for statement in chain.from_iterable(STEPS[version:]):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {max(version, newest)}")
        database.execute("COMMIT")
    if _version(database) > newest:
        raise ConfigError(
            f"the session store's file has version {_version(database)}, this agentkit knows "
            f"{newest}: update agentkit or use another file"
        )
    database.execute("PRAGMA synchronous = NORMAL")  # WAL stays intact after a crash with it


def _use_wal(database: Connection) -> None:
    """Switch the journal; SQLite does not wait for the other processes that do so right now."""
    from sqlite3 import OperationalError

    for _ in range(100):
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except OperationalError as error:
            if "locked" not in str(error):
                raise
            time.sleep(0.05)  # in the store's own thread
        else:
            return
    database.execute("PRAGMA journal_mode = WAL")


def _version(database: Connection) -> int:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version
