"""G: shorten a history of 10,000 messages to 200,000 symbols, with and without known weights."""

from typing import Any

from ..adapter import AdapterModule, Compaction, Json, compactors
from ..history import TrimFloor, make_history
from ..measure import Clock, Settings, spread
from . import Cell, Skipped, ratio

TITLE = "G. Trim 10,000 messages to 200,000 symbols"
COLUMNS = [
    "compactor",
    "CPU ms, weights known",
    "x floor",
    "CPU ms, cold",
    "x floor",
    "kept",
    "floor kept",
]
MESSAGES = 10_000
MAX_SYMBOLS = 200_000


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Time every compactor of the adapter against the straightforward trim."""
    found = compactors(module)
    if not found:
        raise Skipped("no compaction")
    repeat = settings.repeat(15, 4)
    return {label: await _compare(compaction, repeat) for label, compaction in found.items()}


async def _compare(compaction: Compaction, repeat: int) -> Json:
    messages, floor = make_history(MESSAGES), TrimFloor()
    known = compaction.load(messages)
    kept = await compaction.compact(known, MAX_SYMBOLS)
    timed: dict[str, list[float]] = {"floor": [], "known": [], "cold": []}
    for _ in range(repeat):
        timed["floor"].append(await _seconds(floor, messages))
        timed["known"].append(await _seconds(compaction, known))
        timed["cold"].append(await _seconds(compaction, compaction.load(messages)))
    return {
        "kept": len(kept),
        "floor_kept": len(await floor.compact(messages, MAX_SYMBOLS)),
        "cpu_ms": {name: spread(values, 1e3) for name, values in timed.items()},
        "ratio": {
            name: spread([a / f for a, f in zip(timed[name], timed["floor"], strict=True)])
            for name in ("known", "cold")
        },
    }


async def _seconds(compaction: Compaction, history: list[Any]) -> float:
    clock = Clock()
    await compaction.compact(history, MAX_SYMBOLS)
    return clock.cpu()


def rows(result: Json) -> list[list[Cell]]:
    """Return a row per compactor."""
    return [
        [
            label,
            row["cpu_ms"]["known"]["median"],
            ratio(row["ratio"]["known"]),
            row["cpu_ms"]["cold"]["median"],
            ratio(row["ratio"]["cold"]),
            row["kept"],
            row["floor_kept"],
        ]
        for label, row in result.items()
    ]
