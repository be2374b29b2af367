"""F: one conversation of 400 turns with a tool call in each, its whole history kept.

Every turn is a user message, a tool call, its result and an answer: two model calls.
"""

import json
import os
import statistics
from typing import Any

from ..adapter import AdapterModule, Converses, Json
from ..floor import make_floor
from ..measure import Clock, Settings, folder_bytes
from . import Cell, Skipped

TITLE = "F. One conversation of 400 turns, 4 messages and 2 model calls each"
COLUMNS = [
    "turns in 10 s",
    "CPU ms, first turns",
    "middle",
    "last",
    "x floor, CPU total",
    "slope µs per turn",
    "floor slope",
    "log B per turn, early",
    "late",
    "payload B per turn",
]
TIME_LIMIT = 10.0
WINDOW = 20  # turns whose median stands for a point of the conversation


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Take turns in alternation with the floor and see how their cost grows."""
    base = settings.base("s1")
    floor, adapter = make_floor(base), module.make(base)
    if not isinstance(adapter, Converses):
        raise Skipped("no history over several turns")
    for side in (floor, adapter):
        await side.one_turn("warm")
    ours, theirs = adapter.conversation(), floor.conversation()
    turns, clock, logged = settings.repeat(400, 80), Clock(), [_logged()]
    costs: dict[str, list[float]] = {"floor": [], "adapter": []}
    while len(logged) <= turns and clock.wall() < TIME_LIMIT:
        question = f"question {len(logged) - 1}: please look something up for me"
        for name, conversation in (("floor", theirs), ("adapter", ours)):
            costs[name].append(await _cost(conversation, question))
        logged.append(_logged())
    await floor.aclose()
    await adapter.aclose()
    return {
        "turns": len(logged) - 1,
        "floor": growth(costs["floor"]),
        "adapter": growth(costs["adapter"]),
        "ratio_cpu_total": sum(costs["adapter"]) / sum(costs["floor"]),
        "log": _log_growth(logged, settings.repeat(50, 25)),
        "payload_bytes": len(json.dumps(theirs.messages)) / (len(logged) - 1),
    }


async def _cost(conversation: Any, question: str) -> float:
    clock = Clock()
    await conversation.turn(question)
    return clock.cpu()


def growth(costs: list[float]) -> Json:
    """Describe how the CPU seconds per turn grow: three points in ms, the slope in µs per turn."""
    count = len(costs)
    middle, mean = (count - 1) / 2, sum(costs) / count
    square = sum((turn - middle) ** 2 for turn in range(count)) or 1.0
    slope = sum((turn - middle) * (cost - mean) for turn, cost in enumerate(costs)) / square
    return {
        "first_ms": _around(costs, 0.03),
        "middle_ms": _around(costs, 0.5),
        "last_ms": _around(costs, 0.98),
        "slope_us": slope * 1e6,
    }


def _around(costs: list[float], fraction: float) -> float:
    centre, half = int(fraction * len(costs)), WINDOW // 2
    return statistics.median(costs[max(0, centre - half) : centre + half]) * 1e3


def _logged() -> int:
    return folder_bytes(os.environ["BENCH_DEBUG_DIR"])


def _log_growth(logged: list[int], early: int) -> Json:
    late, early = len(logged) - 1, min(early, len(logged) - 1)
    span = min(WINDOW, early)
    return {
        "early": (logged[early] - logged[early - span]) / span,
        "late": (logged[late] - logged[late - span]) / span,
    }


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    floor, adapter, log = result["floor"], result["adapter"], result["log"]
    return [
        [
            result["turns"],
            adapter["first_ms"],
            adapter["middle_ms"],
            adapter["last_ms"],
            result["ratio_cpu_total"],
            adapter["slope_us"],
            floor["slope_us"],
            log["early"] or None,
            log["late"] or None,
            result["payload_bytes"],
        ]
    ]
