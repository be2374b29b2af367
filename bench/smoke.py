"""Does an adapter give the right answers? python -m bench.smoke ADAPTER SERVER"""

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from importlib import import_module

from .adapter import AdapterModule, Converses, KeepsSessions, Streams, compactors
from .history import make_history


def expected(chunks: int) -> str:
    """Return the mock server's answer in that many chunks."""
    return "".join(f"{number:03d} " for number in range(chunks))


def check(condition: bool, seen: object) -> None:
    """Raise with what was seen unless the condition holds."""
    if not condition:
        raise AssertionError(f"got {seen!r}")


async def one_turn(module: AdapterModule, server: str) -> str:
    """Check a turn without tools."""
    text = await module.make(server + "/c3").one_turn("hi")
    check(text == expected(3), text)
    return "ok"


async def tool_run(module: AdapterModule, server: str) -> str:
    """Check a run with three tool calls."""
    text, calls = await module.make(server + "/s3-c3").tool_run("hi")
    check(text == expected(3) and calls == 3, (text, calls))
    return "ok"


async def stream(module: AdapterModule, server: str) -> str:
    """Check a streamed answer."""
    adapter = module.make(server + "/c50")
    if not isinstance(adapter, Streams):
        return "not supported"
    pieces = [piece async for piece in adapter.stream("hi")]
    check("".join(pieces) == expected(50), pieces)
    return f"ok, {len(pieces)} pieces"


async def conversation(module: AdapterModule, server: str) -> str:
    """Check three turns of one conversation."""
    adapter = module.make(server + "/s1-c3")
    if not isinstance(adapter, Converses):
        return "not supported"
    talk = adapter.conversation()
    for number in range(3):
        text = await talk.turn(f"turn {number}")
        check(text == expected(3), text)
    return "ok"


async def sessions(module: AdapterModule, server: str) -> str:
    """Check two sessions of a store in memory."""
    adapter = module.make(server + "/c3")
    if not isinstance(adapter, KeepsSessions):
        return "not supported"
    store = adapter.sessions(None)
    for name in ("a", "b", "a"):
        text = await store.turn(name, "hi")
        check(text == expected(3), text)
    return "ok"


async def compaction(module: AdapterModule, server: str) -> str:
    """Check that every compactor shortens a history."""
    for label, way in compactors(module).items():
        kept = await way.compact(way.load(make_history(1_000)), 40_000)
        check(0 < len(kept) < 1_000, (label, len(kept)))
    return f"{len(compactors(module))} ok"


CHECKS: list[Callable[[AdapterModule, str], Awaitable[str]]] = [
    one_turn,
    tool_run,
    stream,
    conversation,
    sessions,
    compaction,
]


async def main(adapter: str, server: str) -> int:
    """Run all checks and return how many failed."""
    module: AdapterModule = import_module(f"bench.adapters.{adapter}")
    failed = 0
    for run in CHECKS:
        try:
            outcome = await run(module, server)
        except Exception:  # every failure is shown, then the next check runs
            failed += 1
            outcome = "FAILED\n" + traceback.format_exc()
        print(f"  {run.__name__:13}{outcome}")
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))
