"""A user's runs, from the call log: the list, and one as a timeline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi import Path as InPath

from ..observability.call_log import RUN_FILE
from ..observability.call_reader import read_run, read_runs
from .auth import User
from .problems import Problem
from .schemas import RunDetail, RunList
from .service import ServiceOf
from .sessions import Limit, shorten_title
from .timeline import read_timeline, read_title

RUN = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"  # a plain file name

router = APIRouter(tags=["runs"])
Id = Annotated[str, InPath(pattern=RUN, max_length=128)]
After = Annotated[str | None, Query(description="The last run of the page before.")]


@router.get("/runs", response_model=RunList)
async def runs(
    service: ServiceOf, user: User, limit: Limit = 50, after: After = None
) -> dict[str, Any]:
    """List the runs, newest first. All turns of a session are one run."""
    found = await asyncio.to_thread(_read_all, service.run_dir(user), limit, after)
    return {"runs": found}


@router.get("/runs/{run_id}", response_model=RunDetail)
async def run(run_id: Id, service: ServiceOf, user: User) -> dict[str, Any]:
    """Show a run: what it came to, and its model calls, retries and tools in order."""
    return await asyncio.to_thread(_read_one, service.run_dir(user) / run_id)


def _read_all(folder: Path, limit: int, after: str | None) -> list[dict[str, Any]]:
    return [_summary(folder, found) for found in read_runs(folder, limit, after)]


def _read_one(run_dir: Path) -> dict[str, Any]:
    if not (run_dir / RUN_FILE).is_file():
        raise Problem(404, "not_found", "there is no such run")
    return _summary(run_dir.parent, read_run(run_dir)) | {"timeline": read_timeline(run_dir)}


def _summary(folder: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Return a run as clients get it; of one that cannot be read, only why."""
    started = found.get("started")
    outcome = str(found.get("outcome", f"unreadable: {found.get('problem')}"))
    return {
        "run_id": found["run_id"],
        "started": None if started is None else str(started),
        "model": found.get("model"),
        "outcome": "cancelled" if outcome.startswith("CancelledError") else outcome,
        "calls": int(found.get("steps", 0)),
        "input_tokens": int(found.get("input_tokens", 0)),
        "output_tokens": int(found.get("output_tokens", 0)),
        "cost_usd": found.get("cost"),
        "seconds": found.get("seconds", 0.0),
        "title": shorten_title(read_title(folder / found["run_id"])),
    }
