"""Who works on runs, and whose turn it is: what all processes of a database have to agree on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import sqlalchemy as sa
from dbos import DBOS

from ..observability.logger import Logger
from ..session.owner import is_dead
from .database import root_text

LEASE = 30.0  # seconds without a sign of life after which a worker's runs are taken over
BEAT = 5.0  # seconds between two signs of life

_TABLES = (
    "CREATE TABLE IF NOT EXISTS agentkit_workers"
    " (id VARCHAR(255) PRIMARY KEY, seen DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE IF NOT EXISTS agentkit_turns (queue VARCHAR(255) NOT NULL,"
    " session TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (queue, session))",
)
# The database's clock: those of several machines differ.
_NOW = {
    "postgresql": "extract(epoch from clock_timestamp())",
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
}
# A worker that is stopped in the middle of a statement must not hold up the others.
_OPTIONS = {"options": "-c lock_timeout=10s -c idle_in_transaction_session_timeout=30s"}


class Workers:
    """The workers that share a database, this one among them.

    The signs come from a thread: a worker whose event loop is busy is slow, not dead.
    """

    def __init__(self, url: str, own: str, queue: str, logger: Logger) -> None:
        options = _OPTIONS if url.startswith("postgresql") else {}
        self._engine = sa.create_engine(url, pool_size=1, max_overflow=0, connect_args=options)
        self._now = _NOW[self._engine.dialect.name]
        self._own = own
        self._queue = queue
        self._logger = logger
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="agentkit-worker", daemon=True)

    def join(self) -> None:
        """Give the first sign of life; before it this worker must not take a run."""
        with self._engine.begin() as connection:
            if self._engine.dialect.name == "postgresql":  # whose IF NOT EXISTS two can get past
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(1633773172)"))
            for table in _TABLES:
                connection.execute(sa.text(table))
        with suppress(sa.exc.SQLAlchemyError):
            self._run(f"DELETE FROM agentkit_workers WHERE seen < {self._now} - 86400")
        self.beat()

    def start(self) -> None:
        """Go on giving signs, and take over the runs of dead workers, until `leave`."""
        self._thread.start()

    def leave(self) -> None:
        """Stop; what this worker had not finished may be taken over at once."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        with suppress(sa.exc.SQLAlchemyError):  # then its signs grow too old instead
            self._run("DELETE FROM agentkit_workers WHERE id = :id", id=self._own)
        self._engine.dispose()

    def beat(self) -> None:
        """Give a sign of life."""
        self._run(
            f"INSERT INTO agentkit_workers VALUES (:id, {self._now})"
            f" ON CONFLICT (id) DO UPDATE SET seen = {self._now}",
            id=self._own,
        )

    def next_turn(self, session: str) -> int:
        """Return the number of a session's next run; DBOS's own clock can be as coarse as 1 s."""
        statement = (
            "INSERT INTO agentkit_turns VALUES (:queue, :session, 1) ON CONFLICT (queue, session)"
            " DO UPDATE SET number = agentkit_turns.number + 1 RETURNING number"
        )
        with self._engine.begin() as connection:
            values = {"queue": self._queue, "session": session}
            return int(connection.execute(sa.text(statement), values).scalar_one())

    def take_over(self) -> list[str]:
        """Put the unfinished runs of dead workers back into the queue; return those workers."""
        unfinished = DBOS.list_workflows(
            status="PENDING", queue_name=self._queue, load_input=False, load_output=False
        )
        busy = {run.executor_id for run in unfinished if run.executor_id} - {self._own}
        if not busy:
            return []
        alive = {id for id in self._seen() if not is_dead(id)}
        dead = sorted(busy - alive)
        if dead:
            # DBOS leaves the choice to its own control plane; its dequeue admits one worker only,
            # and what a worker that lost a run still writes is refused.
            DBOS._recover_pending_workflows(dead)
        return dead

    def _seen(self) -> list[str]:
        found = f"SELECT id FROM agentkit_workers WHERE seen > {self._now} - :lease"
        with self._engine.begin() as connection:
            return [row[0] for row in connection.execute(sa.text(found), {"lease": LEASE})]

    def _run(self, statement: str, **values: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(sa.text(statement), values)

    def _work(self) -> None:
        while True:
            self._try(self.beat)
            for worker in self._try(self.take_over) or ():
                self._logger.warn(f"worker {worker} is dead: its runs go on elsewhere")
            if self._stop.wait(BEAT):
                return

    def _try(self, work: Callable[[], list[str] | None]) -> list[str] | None:
        try:
            return work()
        except Exception as error:  # such as a database that is being restarted
            if not self._stop.is_set():
                self._logger.warn(f"this worker gave no sign of life: {root_text(error)}")
            return None
