"""C: a new run with ten tool calls, which is eleven model calls."""

from typing import Any

from ..adapter import AdapterModule, Json
from ..floor import make_floor
from ..measure import Settings, paired
from .one_turn import COLUMNS, rows

TITLE = "C. A run with 10 tool calls (11 model calls), paired runs"
__all__ = ["COLUMNS", "TITLE", "measure", "rows"]


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Time whole runs against the floor's."""
    base = settings.base("s10")
    floor, adapter = make_floor(base), module.make(base)
    result = await paired(
        lambda: _run(floor),
        lambda: _run(adapter),
        blocks=settings.repeat(15, 4),
        calls=2,
        warm=2,
    )
    await floor.aclose()
    await adapter.aclose()
    return result


async def _run(adapter: Any) -> None:
    _, calls = await adapter.tool_run("go")
    if calls != 10:
        raise RuntimeError(f"expected 10 tool calls, got {calls}")
