"""One scenario in an adapter's own process: python -m bench.worker ADAPTER SCENARIO SERVER [quick]

The result is one JSON object on the last line.
"""

import asyncio
import json
import os
import sys
import warnings
from importlib import import_module

from .adapter import Json
from .measure import Clock, Settings, folder_bytes, peak_mb
from .scenarios import IN_PROCESS, Skipped


def main() -> None:
    """Run the scenario and print its result."""
    adapter, letter, server, *rest = sys.argv[1:]
    warnings.filterwarnings("ignore")  # peers' deprecation notices
    module = import_module(f"bench.adapters.{adapter}")
    scenario = import_module(f"bench.scenarios.{IN_PROCESS[letter]}")
    clock = Clock()
    result: Json
    try:
        result = asyncio.run(scenario.measure(module, Settings(server, "quick" in rest)))
    except Skipped as reason:
        result = {"skipped": str(reason)}
    print("\n" + json.dumps(result | _process(clock)), flush=True)
    os._exit(0)  # a peer's background threads would hold the process


def _process(clock: Clock) -> Json:
    return {
        "_wall_s": round(clock.wall(), 2),
        "_cpu_s": round(clock.cpu(), 2),
        "_peak_mb": round(peak_mb(), 1),
        "_debug_bytes": folder_bytes(os.environ["BENCH_DEBUG_DIR"]),
    }


if __name__ == "__main__":
    main()
