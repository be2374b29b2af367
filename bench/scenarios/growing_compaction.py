"""I: a conversation of 2,000 turns that is compacted before every turn, and its prompt prefix.

A provider's prompt cache hits as long as the new prompt begins with the whole previous one.
"""

from typing import Any

from ..adapter import AdapterModule, Compaction, Json, compactors
from ..history import TrimFloor, turn_messages
from ..measure import Clock, Settings
from . import Cell, Skipped

TITLE = "I. Compaction before each of 2,000 turns, at most 100,000 symbols"
COLUMNS = [
    "compactor",
    "CPU s",
    "floor CPU s",
    "x floor",
    "µs per turn, first quarter",
    "last quarter",
    "prefix changed",
    "floor's changed",
]
MAX_SYMBOLS = 100_000


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Grow the same conversation under the floor and under every compactor of the adapter."""
    found = compactors(module)
    if not found:
        raise Skipped("no compaction")
    turns = settings.repeat(2_000, 400)
    floor = await _grow(TrimFloor(), turns)
    return {
        label: {"floor": floor, "adapter": await _grow(compaction, turns)}
        for label, compaction in found.items()
    }


async def _grow(compaction: Compaction, turns: int) -> Json:
    history: list[Any] = []
    costs, changes = [], 0
    for turn in range(turns):
        history = history + compaction.load(turn_messages(turn))
        clock = Clock()
        shorter = await compaction.compact(history, MAX_SYMBOLS)
        costs.append(clock.cpu())
        changes += not _begins_with(shorter, history)
        history = shorter
    quarter = turns // 4
    return {
        "cpu_s": sum(costs),
        "first_us": sum(costs[:quarter]) / quarter * 1e6,
        "last_us": sum(costs[-quarter:]) / quarter * 1e6,
        "changes": changes,
        "messages": len(history),
    }


def _begins_with(shorter: list[Any], history: list[Any]) -> bool:
    return len(shorter) == len(history) and all(
        new is old or new == old for new, old in zip(shorter, history, strict=True)
    )


def rows(result: Json) -> list[list[Cell]]:
    """Return a row per compactor."""
    return [
        [
            label,
            row["adapter"]["cpu_s"],
            row["floor"]["cpu_s"],
            row["adapter"]["cpu_s"] / row["floor"]["cpu_s"],
            row["adapter"]["first_us"],
            row["adapter"]["last_us"],
            row["adapter"]["changes"],
            row["floor"]["changes"],
        ]
        for label, row in result.items()
    ]
