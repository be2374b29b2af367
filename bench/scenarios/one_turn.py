"""B: one model call, no tools, a server without latency."""

from ..adapter import AdapterModule, Json
from ..floor import make_floor
from ..measure import Settings, paired
from . import Cell, ratio

TITLE = "B. One turn (one model call, no tools), 500 paired turns"
COLUMNS = ["CPU ms", "floor CPU ms", "x floor, CPU", "wall ms", "p99 ms", "x floor, p99"]


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Time single turns against the floor's."""
    base = settings.base("x")
    floor, adapter = make_floor(base), module.make(base)
    result = await paired(
        lambda: floor.one_turn("hello"),
        lambda: adapter.one_turn("hello"),
        blocks=settings.repeat(20, 4),
        calls=25,
        warm=20,
    )
    await floor.aclose()
    await adapter.aclose()
    return result


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    floor, adapter = result["floor"], result["adapter"]
    return [
        [
            adapter["cpu_ms"]["median"],
            floor["cpu_ms"]["median"],
            ratio(result["ratio_cpu"]),
            adapter["wall_ms"]["median"],
            adapter["p99_ms"],
            result["ratio_p99"],
        ]
    ]
