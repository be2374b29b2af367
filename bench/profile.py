"""Where an adapter's CPU time goes: python -m bench.profile ADAPTER B|C|D|E|F SERVER

A sampler looks at the stack after each millisecond of CPU, or as often as the kernel allows, so it
costs the code little. A second pass counts Python calls, which do not depend on the machine.
"""

import asyncio
import collections
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from types import FrameType
from typing import Any

BEHAVIOUR = {"B": "x", "C": "s10", "D": "s2-d50", "E": "c1000", "F": "s1"}
REPEAT = {"B": 800, "C": 80, "D": 2, "E": 30, "F": 150}
CONCURRENT = 200  # runs at once in scenario D
EARLIER_TURNS = 150  # the conversation that scenario F's profile begins with
Count = collections.Counter[str]
Turn = Callable[[], Awaitable[Any]]


class Samples:
    """How often which package, function and caller was seen."""

    def __init__(self) -> None:
        self.packages: Count = collections.Counter()
        self.own: Count = collections.Counter()
        self.within: Count = collections.Counter()
        self.total = 0

    def take(self, number: int, frame: FrameType | None) -> None:
        """Record one stack."""
        stack = list(_stack(frame))
        outside = [place for place in stack if not place.startswith("stdlib")]
        self.total += 1
        self.packages[(outside or ["stdlib:event loop"])[0].partition(":")[0]] += 1
        self.own[stack[0]] += 1
        self.within.update(set(outside))

    def print(self) -> None:
        """Print the shares."""
        tables = {
            "by package (innermost that is not the standard library)": (self.packages, 10),
            "by function, its own time": (self.own, 25),
            "by function, with what it calls": (self.within, 45),
        }
        for title, (count, limit) in tables.items():
            print(f"\n{title}")
            for place, seen in count.most_common(limit):
                print(f"  {100 * seen / self.total:5.1f} %  {place}")


def place_of(frame: FrameType) -> str:
    """Name a frame as package:path:function."""
    code = frame.f_code
    path = code.co_filename
    for mark in ("/site-packages/", "/floor_site/"):
        if mark in path:
            inside = path.partition(mark)[2]
            package, _, rest = inside.partition("/")
            return f"{package.removesuffix('.py')}:{rest}:{code.co_qualname}"
    if "/agentkit/" in path:
        return f"agentkit:{path.rpartition('/agentkit/')[2]}:{code.co_qualname}"
    if "/bench/" in path:
        return f"adapter:{os.path.basename(path)}:{code.co_qualname}"
    return f"stdlib:{os.path.basename(path)}:{code.co_qualname}"


def _stack(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield place_of(frame)
        frame = frame.f_back


async def turns(name: str, letter: str, server: str) -> Turn:
    """Return what one repetition of a scenario is, warmed up."""
    adapter = import_module(f"bench.adapters.{name}").make(f"{server}/{BEHAVIOUR[letter]}")
    if letter == "F":
        talk = adapter.conversation()
        for number in range(EARLIER_TURNS):
            await talk.turn(f"question {number}")
        return lambda: talk.turn("next question")
    calls: dict[str, Turn] = {
        "B": lambda: adapter.one_turn("hello"),
        "C": lambda: adapter.tool_run("go"),
        "D": lambda: asyncio.gather(*(adapter.tool_run("go") for _ in range(CONCURRENT))),
        "E": lambda: _read(adapter),
    }
    for _ in range(3):
        await calls[letter]()
    return calls[letter]


async def _read(adapter: Any) -> None:
    async for _ in adapter.stream("go"):
        pass


async def sample(turn: Turn, count: int) -> Samples:
    """Sample that many repetitions."""
    samples = Samples()
    signal.signal(signal.SIGPROF, samples.take)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    for _ in range(count):
        await turn()
    signal.setitimer(signal.ITIMER_PROF, 0)
    return samples


async def count_calls(turn: Turn, count: int) -> dict[str, float]:
    """Count the calls of Python functions per repetition, the most frequent first.

    A generator that goes on counts as a call.
    """
    seen: Count = collections.Counter()

    def on_event(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen[place_of(frame)] += 1

    sys.setprofile(on_event)
    for _ in range(count):
        await turn()
    sys.setprofile(None)
    return {place: calls / count for place, calls in seen.most_common()}


def print_calls(calls: dict[str, float]) -> None:
    """Print the calls per repetition by package, then by function outside the standard library."""
    packages: dict[str, float] = {}
    for place, number in calls.items():
        package = place.partition(":")[0]
        packages[package] = packages.get(package, 0.0) + number
    shares = sorted(packages.items(), key=lambda item: -item[1])
    print(f"\n{sum(calls.values()):.0f} calls per repetition: ", end="")
    print(", ".join(f"{package} {number:.0f}" for package, number in shares))
    outside = [place for place in calls if not place.startswith("stdlib")]
    for place in outside[:40]:
        print(f"  {calls[place]:8.1f}  {place}")


async def main(name: str, letter: str, server: str) -> None:
    """Profile one scenario of an adapter and print where the time went."""
    turn = await turns(name, letter, server)
    samples = await sample(turn, REPEAT[letter])
    calls = await count_calls(turn, 3)
    print(f"{name}, scenario {letter}: {samples.total} samples")
    samples.print()
    print_calls(calls)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
    sys.stdout.flush()
    os._exit(0)
