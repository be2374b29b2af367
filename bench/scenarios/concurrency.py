"""D: 200 runs of three model calls at once, a server that takes 50 ms; ideal is 0.15 s of wall."""

import asyncio
from typing import Any

from ..adapter import Adapter, AdapterModule, Json
from ..adapters import raw_socket
from ..floor import make_floor
from ..measure import Clock, Settings, peak_mb, reset_peak, resident_mb
from . import Cell

TITLE = "D. 200 concurrent runs x 3 model calls, 50 ms server (ideal wall 0.15 s)"
COLUMNS = [
    "CPU s",
    "httpx2 pool CPU s",
    "x httpx2 pool, CPU",
    "x bare socket, CPU",
    "wall s",
    "peak growth MB",
    "errors",
]
RUNS = 200


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Run bursts on a bare socket, one raw httpx2 pool and the adapter; keep the best of each."""
    base = settings.base("s2-d50")
    sides: dict[str, Adapter] = {
        "socket": raw_socket.make(base),
        "pool": make_floor(base),
        "adapter": module.make(base),
    }
    bursts: dict[str, list[Json]] = {name: [] for name in sides}
    for adapter in sides.values():
        await _burst(adapter, 5)
    for _ in range(settings.repeat(3, 1)):
        for name, adapter in sides.items():
            bursts[name].append(await _burst(adapter, RUNS))
    for adapter in sides.values():
        await adapter.aclose()
    best = {name: min(rows, key=lambda row: row["cpu_s"]) for name, rows in bursts.items()}
    return {"best": best, "first": {name: rows[0] for name, rows in bursts.items()}}


async def _burst(adapter: Adapter, runs: int) -> Json:
    reset_peak()
    before, clock = resident_mb(), Clock()
    results: list[Any] = await asyncio.gather(
        *(adapter.tool_run("go") for _ in range(runs)), return_exceptions=True
    )
    errors = [item for item in results if isinstance(item, BaseException) or item[1] != 2]
    return {
        "wall_s": clock.wall(),
        "cpu_s": clock.cpu(),
        "growth_mb": peak_mb() - before,
        "errors": len(errors),
        "error": repr(errors[0])[:200] if errors else None,
    }


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    best, first = result["best"], result["first"]
    cpu = best["adapter"]["cpu_s"]
    return [
        [
            cpu,
            best["pool"]["cpu_s"],
            cpu / best["pool"]["cpu_s"],
            cpu / best["socket"]["cpu_s"],
            best["adapter"]["wall_s"],
            first["adapter"]["growth_mb"],
            first["adapter"]["errors"],
        ]
    ]
