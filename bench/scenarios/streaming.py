"""E: 1,000 text chunks, one event per socket write, and the time to the first of them."""

from typing import Any

from ..adapter import AdapterModule, Json, Streams
from ..floor import make_floor
from ..measure import SOFT_LIMIT, Clock, Settings, spread
from . import Cell, Skipped, ratio

TITLE = "E. Streaming 1,000 chunks"
COLUMNS = [
    "CPU ms",
    "floor CPU ms",
    "x floor, CPU",
    "wall ms",
    "first token ms",
    "first token behind the floor, ms",
]


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Read whole streams in turn with the floor, then only the beginnings of slow ones."""
    base = settings.base("c1000")
    floor, adapter = make_floor(base), module.make(base)
    if not isinstance(adapter, Streams):
        raise Skipped("no streaming")
    pairs = await _alternate(floor, adapter, settings.repeat(20, 4))
    first = await first_token(module, settings)
    await floor.aclose()
    await adapter.aclose()
    return {
        "floor": _summary([left for left, _ in pairs]),
        "adapter": _summary([right for _, right in pairs]),
        "ratio_cpu": spread([right["cpu"] / left["cpu"] for left, right in pairs]),
        "first_token_behind_ms": first,
    }


async def _alternate(floor: Streams, adapter: Streams, count: int) -> list[tuple[Json, Json]]:
    pairs: list[tuple[Json, Json]] = []
    clock = Clock()
    for side in (floor, adapter):
        await _read(side)
    while len(pairs) < count and clock.wall() < SOFT_LIMIT:
        pairs.append((await _read(floor), await _read(adapter)))
    return pairs


async def _read(adapter: Streams) -> Json:
    clock, first, characters = Clock(), None, 0
    async for piece in adapter.stream("go"):
        first = clock.wall() if first is None else first
        characters += len(piece)
    if characters != 4000:
        raise RuntimeError(f"expected 4000 characters, got {characters}")
    return {"first": first, "wall": clock.wall(), "cpu": clock.cpu()}


async def first_token(module: AdapterModule, settings: Settings) -> float:
    """Return how many ms after the floor the first token comes when the server writes slowly."""
    base = settings.base("c20-i5")
    floor, adapter = make_floor(base), module.make(base)
    firsts: dict[str, list[float]] = {"floor": [], "adapter": []}
    sides: list[tuple[str, Any]] = [("floor", floor), ("adapter", adapter)]
    for number in range(settings.repeat(12, 3)):
        for name, side in sides:
            seconds = (await _first(side)) * 1e3
            if number:
                firsts[name].append(seconds)
    await floor.aclose()
    await adapter.aclose()
    return float(spread(firsts["adapter"])["median"] - spread(firsts["floor"])["median"])


async def _first(adapter: Streams) -> float:
    clock, first = Clock(), None
    async for _ in adapter.stream("go"):
        first = clock.wall() if first is None else first
    return first or clock.wall()


def _summary(reads: list[Json]) -> Json:
    return {
        "cpu_ms": spread([read["cpu"] for read in reads], 1e3),
        "wall_ms": spread([read["wall"] for read in reads], 1e3),
        "first_ms": spread([read["first"] for read in reads], 1e3),
    }


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    floor, adapter = result["floor"], result["adapter"]
    return [
        [
            adapter["cpu_ms"]["median"],
            floor["cpu_ms"]["median"],
            ratio(result["ratio_cpu"]),
            adapter["wall_ms"]["median"],
            adapter["first_ms"]["median"],
            result["first_token_behind_ms"],
        ]
    ]
