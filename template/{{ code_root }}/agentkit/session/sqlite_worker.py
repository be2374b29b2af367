"""One thread that owns a SQLite database and works for any number of tasks."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import AgentkitError, StoreError
from ..observability.private_directory import make_directory

if TYPE_CHECKING:
    from sqlite3 import Connection

BUSY_TIMEOUT = 5.0  # seconds to wait for another process to end its transaction
LARGEST_BATCH = 1_000  # jobs in one transaction

T = TypeVar("T")


class _Job(NamedTuple):
    """Work whose result goes to a future of the asking event loop. No work means: close."""

    work: Callable[[Connection], Any] | None
    writes: bool = False
    future: asyncio.Future[Any] | None = None


class _Line(NamedTuple):
    """Jobs that wait, and the thread that does them."""

    jobs: SimpleQueue[_Job]
    thread: threading.Thread


# SQLite forgets its locks in a forked process, and in the worst case what that process writes. So
# before a fork all databases are closed; each side opens them again when it needs them.
_lines: set[_Line] = set()
_choosing = threading.Lock()  # held while a line is chosen or given up, and during a fork


def _before_fork() -> None:
    _choosing.acquire()
    for line in _lines:
        line.jobs.put(_Job(None))
    for line in _lines:
        line.thread.join()
    _lines.clear()


def _after_fork() -> None:
    if _choosing.locked():  # a server in C may fork without telling before
        _choosing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


class SqliteWorker:
    """Runs work on one database, in order; what is queued at the same time is one transaction.

    A commit costs more than an append, so a thousand busy sessions share a few of them. The file
    is opened with the first job, by `prepare`, and the thread never keeps the process alive. May
    be used in many threads, and on both sides of a fork.
    """

    def __init__(self, path: Path, prepare: Callable[[Connection], None]) -> None:
        self._path = path
        self._prepare = prepare
        self._line: _Line | None = None

    def post(self, work: Callable[[Connection], T], writes: bool) -> asyncio.Future[T]:
        """Queue work and return its future, which need not be awaited.

        Work may be run twice, the first time rolled back. It may raise `AgentkitError` only before
        it writes; any other failure undoes it and becomes a `StoreError`.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with _choosing:
            if self._line is None or not _is_open(self._line):
                self._line = self._start()
            self._line.jobs.put(_Job(work, writes, future))
        return future

    async def aclose(self) -> None:
        """Finish what is queued and close the file; the next job would open it again."""
        with _choosing:
            line, self._line = self._line, None
            if line is None or not _is_open(line):
                return
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            line.jobs.put(_Job(None, False, future))
        try:
            await future
        finally:
            with _choosing:
                _lines.discard(line)

    def _start(self) -> _Line:
        jobs: SimpleQueue[_Job] = SimpleQueue()
        arguments = (self._path, self._prepare, jobs)
        thread = threading.Thread(target=_serve, args=arguments, name="sessions", daemon=True)
        thread.start()
        line = _Line(jobs, thread)
        _lines.add(line)
        return line


def _is_open(line: _Line) -> bool:
    """Tell whether somebody works on it: not after a fork, of which only one thread is left."""
    return line in _lines and line.thread.is_alive()


def _serve(path: Path, prepare: Callable[[Connection], None], jobs: SimpleQueue[_Job]) -> None:
    database: Connection | None = None
    closing: list[_Job] = []
    while not closing:
        batch = _next_batch(jobs)
        closing = [job for job in batch if job.work is None]
        batch = [job for job in batch if job.work and not _is_cancelled(job)]
        try:
            database = database or _open(path, prepare)
            outcomes = _run(database, batch) if batch else []
        except Exception as error:
            outcomes = [error] * len(batch)
        _deliver(path, batch, outcomes)
    if database:
        database.close()
    _deliver(path, closing, [None])


def _is_cancelled(job: _Job) -> bool:
    return job.future is not None and job.future.cancelled()


def _next_batch(jobs: SimpleQueue[_Job]) -> list[_Job]:
    batch = [jobs.get()]
    try:
        while batch[-1].work and len(batch) < LARGEST_BATCH:
            batch.append(jobs.get_nowait())
    except Empty:
        pass
    return batch


def _open(path: Path, prepare: Callable[[Connection], None]) -> Connection:
    import sqlite3

    make_directory(path.parent, path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # conversations are their owner's only
    database = sqlite3.connect(path, timeout=BUSY_TIMEOUT, isolation_level=None)
    try:
        prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _run(database: Connection, batch: list[_Job]) -> list[Any]:
    """Run the batch in one transaction. If that fails, run each job in its own, so that one that
    cannot be stored does not take the others with it."""
    database.execute("BEGIN IMMEDIATE" if any(job.writes for job in batch) else "BEGIN")
    try:
        outcomes = [_outcome(database, job) for job in batch]
        database.execute("COMMIT")
    except Exception as error:
        if database.in_transaction:
            database.execute("ROLLBACK")
        if len(batch) == 1:
            return [error]
        return [outcome for job in batch for outcome in _run(database, [job])]
    return outcomes


def _outcome(database: Connection, job: _Job) -> Any:
    assert job.work is not None
    try:
        return job.work(database)
    except AgentkitError as error:
        return error


def _deliver(path: Path, batch: list[_Job], outcomes: list[Any]) -> None:
    """Hand the outcomes over, with one wake-up for each event loop."""
    settled: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for job, outcome in zip(batch, outcomes, strict=True):
        if job.future is None:
            continue
        if isinstance(outcome, Exception) and not isinstance(outcome, AgentkitError):
            outcome = _store_error(path, outcome)
        settled.setdefault(job.future.get_loop(), []).append((job.future, outcome))
    for loop, pairs in settled.items():
        try:
            loop.call_soon_threadsafe(_settle, pairs)
        except RuntimeError:
            continue  # the loop is closed: nobody waits any more


def _settle(pairs: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue  # cancelled
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
            future.exception()  # counts as seen: a job nobody awaits may fail in silence
        else:
            future.set_result(outcome)


_ADVICE = {  # primary result codes of SQLite
    3: "check the permissions of the file and its folder",
    5: "another program keeps it locked, close that or try again",
    8: "check the permissions of the file and its folder",
    10: "the disk failed or is full",
    11: "the file is damaged, restore a backup or move it away",
    13: "the disk is full, free some space",
    14: "check the path and the permissions of its folder",
    26: "the file is damaged or no SQLite database, move it away or use another path",
}


def _store_error(path: Path, error: Exception) -> StoreError:
    if isinstance(error, OSError):
        text = f"{error.strerror}: check the path and its permissions"
    else:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        text = f"{error}: {_ADVICE[code]}" if code in _ADVICE else f"{error}"
    wrapped = StoreError(f"session store {path}: {text}; nothing was changed")
    wrapped.__cause__ = error
    return wrapped
