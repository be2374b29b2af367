"""S: an answer as an instance of a pydantic model; then replies that break its schema."""

import asyncio
import os
from typing import Any

from ..adapter import AdapterModule, Json, TypedOutput
from ..floor import make_floor
from ..measure import Clock, Settings, paired
from ..stats import requests_of
from . import Cell, Skipped, ratio

TITLE = "S. Typed output, paired with an untyped turn; outcome / requests when replies are invalid"
COLUMNS = [
    "CPU ms",
    "floor CPU ms",
    "x floor, CPU",
    "first reply invalid",
    "every reply invalid",
]
PATIENCE = 12.0


async def measure(module: AdapterModule, settings: Settings) -> Json:
    """Time valid replies, then count the requests that invalid ones cause."""
    schema = _schema()
    base = settings.base("x")
    floor, adapter = make_floor(base), module.make(base)
    if not isinstance(adapter, TypedOutput):
        raise Skipped("no typed output")

    async def valid() -> None:
        answer: Any = await adapter.typed("go", schema)
        if not isinstance(answer, schema) or getattr(answer, "count", None) != 7:
            raise RuntimeError(f"wrong answer: {answer!r}")

    blocks = settings.repeat(8, 2)
    result = await paired(lambda: floor.one_turn("hello"), valid, blocks, calls=20, warm=5)
    result["first"] = await _invalid(module, settings, schema, failures=1)
    result["always"] = await _invalid(module, settings, schema, failures=0)
    await floor.aclose()
    await adapter.aclose()
    return result


def _schema() -> type[Any]:
    try:
        from pydantic import BaseModel
    except ImportError:
        raise Skipped("no pydantic") from None

    class Item(BaseModel):
        title: str
        score: float

    class Answer(BaseModel):
        """The final answer."""

        summary: str
        count: int
        items: list[Item]

    return Answer


async def _invalid(
    module: AdapterModule, settings: Settings, schema: type[Any], failures: int
) -> Json:
    key = f"s{failures}{module.__name__.rpartition('.')[2].replace('_', '')}{os.getpid()}"
    adapter: Any = module.make(settings.base(f"fbadschema-n{failures}-k{key}"))
    clock = Clock()
    try:
        answer = await asyncio.wait_for(adapter.typed("go", schema), PATIENCE)
        outcome = "ok" if isinstance(answer, schema) else f"a {type(answer).__name__}"
    except TimeoutError:
        outcome = f"over {PATIENCE:.0f} s"
    except Exception as error:  # any outcome of a peer is a result here
        outcome = type(error).__name__
    requests = requests_of(settings.server, key)
    return {"outcome": outcome, "requests": requests, "wall_s": clock.wall()}


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    first, always = result["first"], result["always"]
    return [
        [
            result["adapter"]["cpu_ms"]["median"],
            result["floor"]["cpu_ms"]["median"],
            ratio(result["ratio_cpu"]),
            f"{first['outcome']} / {first['requests']}",
            f"{always['outcome']} / {always['requests']}",
        ]
    ]
