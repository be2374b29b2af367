"""Measuring inside one process: CPU and wall time of paired blocks, memory, disk.

CPU is `time.process_time`: user and system time of all threads of this process.
"""

import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from .adapter import Json

SOFT_LIMIT = 25.0  # seconds; a scenario's loop stops early rather than being killed


@dataclass(frozen=True)
class Settings:
    """What a scenario needs to know: the mock server's address and how long it may take."""

    server: str
    quick: bool

    def repeat(self, full: int, quick: int) -> int:
        """Return how often to repeat."""
        return quick if self.quick else full

    def base(self, behaviour: str) -> str:
        """Return the base URL under which the mock server behaves in that way."""
        return f"{self.server}/{behaviour}"


class Clock:
    """Seconds of wall and CPU time since it was made."""

    def __init__(self) -> None:
        self.wall0, self.cpu0 = perf_counter(), process_time()

    def wall(self) -> float:
        """Return wall seconds so far."""
        return perf_counter() - self.wall0

    def cpu(self) -> float:
        """Return CPU seconds so far."""
        return process_time() - self.cpu0


def spread(values: list[float], scale: float = 1.0) -> Json:
    """Return minimum, median and maximum."""
    scaled = [value * scale for value in values]
    return {"min": min(scaled), "median": statistics.median(scaled), "max": max(scaled)}


def percentile(values: list[float], fraction: float) -> float:
    """Return the value below which that fraction of the values lies."""
    return sorted(values)[min(len(values) - 1, int(fraction * len(values)))]


Call = Callable[[], Awaitable[Any]]


class Blocks:
    """Wall seconds of every call of one side, and CPU seconds per call of every block."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.walls: list[float] = []
        self.cpus: list[float] = []

    async def run(self, calls: int) -> None:
        """Time one block of calls."""
        block = Clock()
        for _ in range(calls):
            clock = Clock()
            await self.call()
            self.walls.append(clock.wall())
        self.cpus.append(block.cpu() / calls)

    def result(self) -> Json:
        """Return the numbers of this side, in milliseconds."""
        return {
            "wall_ms": spread(self.walls, 1e3),
            "p99_ms": percentile(self.walls, 0.99) * 1e3,
            "cpu_ms": spread(self.cpus, 1e3),
        }


async def paired(floor: Call, adapter: Call, blocks: int, calls: int, warm: int) -> Json:
    """Run both sides in alternating blocks; ratios are those of neighbouring blocks.

    Noise of the machine hits both sides of a pair, so their ratio stays put.
    """
    for call in (floor, adapter):
        await Blocks(call).run(warm)
    left, right, clock = Blocks(floor), Blocks(adapter), Clock()
    for number in range(blocks):
        for side in (left, right) if number % 2 == 0 else (right, left):
            await side.run(calls)
        if clock.wall() > SOFT_LIMIT:
            break
    ratios = [a / f for a, f in zip(right.cpus, left.cpus, strict=True)]
    return {
        "calls": len(right.walls),
        "floor": left.result(),
        "adapter": right.result(),
        "ratio_cpu": spread(ratios),
        "ratio_p99": percentile(right.walls, 0.99) / percentile(left.walls, 0.99),
    }


def reset_peak(process: int | str = "self") -> None:
    """Forget the peak of resident memory so far (Linux; elsewhere the peak is the process's)."""
    try:
        Path(f"/proc/{process}/clear_refs").write_text("5")
    except OSError:
        return


def resident_mb(process: int | str = "self") -> float:
    """Return resident memory in MB."""
    return _status_kb("VmRSS", process) / 1024


def peak_mb(process: int | str = "self") -> float:
    """Return the peak of resident memory in MB since `reset_peak`."""
    return _status_kb("VmHWM", process) / 1024


def _status_kb(field: str, process: int | str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def folder_bytes(folder: str | Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
