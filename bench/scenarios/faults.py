"""R: the first request fails; what comes of it with the runtime's defaults, in how many tries."""

import asyncio
import os

from ..adapter import Adapter, AdapterModule, Json, TakesTimeout
from ..measure import Clock, Settings
from ..stats import requests_of
from . import Cell

TITLE = "R. The first request fails: outcome / requests / seconds"
FAULTS = {
    "429, Retry-After 300 ms": "f429-r300",
    "500": "f500",
    "503": "f503",
    "reset": "freset",
    "truncated": "ftrunc",
    "malformed JSON": "fbadjson",
    "400": "f400",
    "401": "f401",
    "403": "f403",
    "500 always": "f500-b4",
    "silent server": "fhang",
    "silent server, timeout 0.5 s": "fhang-b5",
}
COLUMNS = list(FAULTS)
LASTING = ("500 always", "silent server, timeout 0.5 s")  # these never recover: wait for the end


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Provoke every fault once, each under a counter of its own."""
    warm = module.make(settings.base("x"))  # some import for seconds at their first call
    await warm.one_turn("warm")
    await warm.aclose()
    return {name: await _provoke(module, settings, name) for name in FAULTS}


async def _provoke(module: AdapterModule, settings: Settings, fault: str) -> Json:
    behaviour, short = FAULTS[fault], module.__name__.rpartition(".")[2].replace("_", "")
    key = f"{short}{os.getpid()}{behaviour.replace('-', '')}"
    lasting = fault in LASTING
    base = settings.base(f"{behaviour}-n{0 if lasting else 1}-k{key}")
    adapter = _make(module, base, fault)
    if adapter is None:
        return {"outcome": "not measured", "requests": 0, "wall_s": 0.0}
    clock = Clock()
    outcome = await _outcome(adapter, 15.0 if lasting else 3.0)
    seconds, requests = clock.wall(), requests_of(settings.server, key)
    return {"outcome": outcome, "requests": requests, "wall_s": seconds}


def _make(module: AdapterModule, base: str, fault: str) -> Adapter | None:
    if "timeout" not in fault:
        return module.make(base)
    return module.make_with_timeout(base, 0.5) if isinstance(module, TakesTimeout) else None


async def _outcome(adapter: Adapter, patience: float) -> str:
    try:
        await asyncio.wait_for(adapter.one_turn("hi"), patience)
    except TimeoutError as error:
        # A runtime may raise a TimeoutError of its own; only wait_for chains a cancellation to it.
        waited = isinstance(error.__cause__, asyncio.CancelledError)
        return f"over {patience:.0f} s" if waited else type(error).__name__
    except Exception as error:  # any outcome of a peer is a result here
        return type(error).__name__
    return "ok"


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    cells = [result[name] for name in FAULTS]
    return [[f"{cell['outcome']} / {cell['requests']} / {cell['wall_s']:.1f}" for cell in cells]]
