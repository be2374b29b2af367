"""J: 1,000 sessions at once, two turns each, with the SQLite store; then all opened again."""

import asyncio
import os
import tempfile
from pathlib import Path

from ..adapter import AdapterModule, Json, KeepsSessions, Sessions
from ..floor import RawConversation, RawHttpx, make_floor
from ..measure import Clock, Settings, folder_bytes, peak_mb, reset_peak, resident_mb
from . import Cell, Skipped

TITLE = "J. 1,000 concurrent sessions x 2 turns, then one more turn after opening the store again"
COLUMNS = ["store", "CPU ms per turn", "wall s", "peak growth MB", "errors", "store kB per session"]


class RawSessions:
    """The floor: one list of messages per session on one httpx2 pool."""

    def __init__(self, floor: RawHttpx) -> None:
        self.floor = floor
        self.open: dict[str, RawConversation] = {}

    async def turn(self, session: str, prompt: str) -> str:
        """Add one turn to a session and return its text."""
        conversation = self.open.setdefault(session, self.floor.conversation())
        return await conversation.turn(prompt)

    async def aclose(self) -> None:
        """Close the client."""
        await self.floor.aclose()


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Run all sessions on the floor, in memory, in SQLite, and in SQLite opened again."""
    base, count = settings.base("d50"), settings.repeat(1_000, 200)
    adapter = module.make(base)
    if not isinstance(adapter, KeepsSessions):
        raise Skipped("no session store")
    with tempfile.TemporaryDirectory(dir=os.environ["BENCH_DEBUG_DIR"]) as folder:
        database = Path(folder) / "sessions.db"
        result = {
            "raw httpx2, lists": await _turns(RawSessions(make_floor(base)), count, 2),
            "memory": await _turns(adapter.sessions(None), count, 2),
            "SQLite": await _turns(adapter.sessions(database), count, 2),
            "SQLite, opened again": await _turns(adapter.sessions(database), count, 1),
        }
        size = folder_bytes(folder)
    result["SQLite, opened again"]["store_kb"] = size / 1024 / count
    await adapter.aclose()
    return result


async def _turns(sessions: Sessions, count: int, turns: int) -> Json:
    reset_peak()
    before, clock = resident_mb(), Clock()

    async def session(number: int) -> None:
        for turn in range(turns):
            await sessions.turn(f"session-{number}", f"question {turn}")

    results = await asyncio.gather(*map(session, range(count)), return_exceptions=True)
    errors = [item for item in results if item is not None]
    row = {
        "cpu_ms": clock.cpu() / count / turns * 1e3,
        "wall_s": clock.wall(),
        "growth_mb": peak_mb() - before,
        "errors": len(errors),
        "error": repr(errors[0])[:200] if errors else None,
    }
    await sessions.aclose()
    return row


def rows(result: Json) -> list[list[Cell]]:
    """Return a row per store."""
    return [
        [
            label,
            row["cpu_ms"],
            row["wall_s"],
            row["growth_mb"],
            row["errors"],
            row.get("store_kb"),
        ]
        for label, row in result.items()
    ]
