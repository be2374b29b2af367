"""The database of durable runs: its address, its file, and what DBOS has to say about it."""

from __future__ import annotations

import logging
from pathlib import Path

from dbos import DBOSConfig, DBOSPortableJSONSerializer
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from ..errors import ConfigError
from ..observability.logger import Logger
from ..observability.private_directory import make_directory
from ..observability.redact import add_url_secrets, exception_text

LAYOUT = 1  # which steps a run has; workers take up runs of their own layout only
# A run that fails is told of by its result, one that is cut off is cut off by us.
_KNOWN = ("Exception encountered in asynchronous workflow", "Asyncio task cancelled")
_POSTGRES = "postgresql+psycopg"  # the driver that DBOS brings


def prepared_url(text: str) -> str:
    """Return an address that SQLAlchemy takes; raises `ConfigError` for one that it does not.

    A SQLite file is made for its owner only.
    """
    try:
        url = make_url(text)
    except ArgumentError:
        raise ConfigError("the database of durable runs: its address is no URL") from None
    add_url_secrets(text)
    if url.drivername in ("postgresql", "postgres", _POSTGRES):
        return url.set(drivername=_POSTGRES).render_as_string(hide_password=False)
    if url.drivername == "sqlite" and url.database not in (None, "", ":memory:"):
        path = Path(str(url.database))
        make_directory(path.parent, path.parent)
        path.touch(mode=0o600)
        return text
    raise ConfigError(
        f"the database of durable runs: {url.drivername} is none of sqlite:///path, postgresql://…"
    )


def root_text(error: BaseException) -> str:
    """Return what a driver said, without the statement that SQLAlchemy adds; masked."""
    return exception_text(error.__cause__ or error).partition("\n")[0]


def dbos_config(url: str, name: str, worker: str) -> DBOSConfig:
    """Return what DBOS is to do: JSON in place of pickles, nothing sent anywhere."""
    return {
        "name": name,
        "system_database_url": url,
        # Else a hash of the program's code, with which no run would survive an edit.
        "application_version": f"agentkit-{name}-{LAYOUT}",
        "executor_id": worker,
        "serializer": DBOSPortableJSONSerializer(),
        "log_level": "WARNING",
        "enable_otlp": False,
    }


class _Forward(logging.Handler):
    """Writes what DBOS warns of to the agent's log, in one line each and masked."""

    def __init__(self, logger: Logger) -> None:
        super().__init__(logging.WARNING)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage().partition("\n")[0]  # statements and tracebacks follow
        error = record.exc_info[1] if record.exc_info else None
        if not said.startswith(_KNOWN):
            cause = f" {root_text(error)}" if error else ""
            self._logger.warn(f"durable runs: {said}{cause}")


def forward_warnings(logger: Logger) -> None:
    """Have DBOS write to this log, instead of to the console."""
    dbos = logging.getLogger("dbos")
    dbos.handlers[:] = [_Forward(logger)]
    dbos.propagate = False
