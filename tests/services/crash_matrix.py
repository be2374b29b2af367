"""What a durable run repeats after `kill -9`, place by place, on SQLite and on PostgreSQL.

`python -m tests.services.crash_matrix` prints the tables, from the repository's root, in an
environment with the development dependencies. TEST_DATABASE_URL is the address of a database.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import create_engine, make_url, text

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "template" / "{{ code_root }}"
SQLITE = "sqlite:///{place}/runs.db"
POSTGRES = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/test")


@contextmanager
def database(url: str) -> Iterator[str]:
    """Make a database on a server, and drop it at the end; a file needs no such thing."""
    if url == SQLITE:
        yield url
        return
    name = f"crashes_{secrets.token_hex(4)}"
    server = create_engine(url.replace("://", "+psycopg://", 1), isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield make_url(url).set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    server.dispose()


class Outcome(NamedTuple):
    """What the two workers of a place left: events that the world saw, and how the run ended."""

    place: str
    seen: Counter[str]
    result: dict[str, Any]
    rows: list[bytes]
    log: str

    def repeated(self, kind: str) -> list[str]:
        """Return what the world saw more than once, of the events that begin with `kind`."""
        return [name.removeprefix(kind) for name in sorted(self.seen - Counter(set(self.seen)))
                if name.startswith(kind)]  # fmt: skip


def crash(url: str, folder: Path, places: Sequence[str]) -> list[Outcome]:
    """Kill a worker at each of the places and return what came of the run."""
    command = [sys.executable, "-W", "error", "-m", "tests.services.crash_program"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(RUNTIME)])}
    subprocess.run(
        [*command, url, str(folder), *places], env=environment, cwd=ROOT, check=True, timeout=300
    )
    return [_read(folder / place) for place in places]


def _read(folder: Path) -> Outcome:
    seen = Counter((folder / "ledger").read_text(encoding="utf-8").splitlines())
    with sqlite3.connect(folder / "sessions.db") as database:
        found = database.execute("SELECT json FROM session_rows ORDER BY position").fetchall()
    database.close()
    result = json.loads((folder / "result").read_text(encoding="utf-8"))
    log = (folder / "log").read_text(encoding="utf-8")
    return Outcome(folder.name, seen, result, [row for (row,) in found], log)


def table(outcomes: Sequence[Outcome], whole: Outcome) -> str:
    """Return the table of one database; `whole` is the run that nobody killed."""
    lines = [
        "| killed | paid again | tools begun again | tools done again | same result, session |"
    ]
    lines.append("| --- | --- | --- | --- | --- |")
    for outcome in outcomes:
        same = (outcome.result, outcome.rows) == (whole.result, whole.rows)
        again = [", ".join(outcome.repeated(kind)) or "0" for kind in ("model ", "begun ", "done ")]
        lines.append(f"| {outcome.place} | {' | '.join(again)} | {'yes' if same else 'NO'} |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each database."""
    sys.path[:0] = [str(RUNTIME)]
    from .crash_program import PLACES

    for name, url in (("SQLite", SQLITE), ("PostgreSQL", POSTGRES)):
        with tempfile.TemporaryDirectory() as folder, database(url) as address:
            outcomes = crash(address, Path(folder), PLACES)
        print(f"{name}, two workers\n\n{table(outcomes, outcomes[0])}\n")


if __name__ == "__main__":
    main()
