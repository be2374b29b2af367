"""L: an agent over HTTP, 200 clients that stream at once; then others beside 200 slow readers.

The servers take turns, round by round; between two rounds of one it keeps what it has in memory.
"""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..adapter import Json
from ..catalog import AdapterInfo
from ..environments import clean, python
from ..measure import Settings, peak_mb, percentile, reset_peak, resident_mb, spread
from ..processes import run
from ..server_process import ServerProcess
from . import Cell

TITLE = "L. An agent over HTTP: 200 clients stream at once, a model that takes 50 ms"
COLUMNS = [
    "load",
    "requests/s",
    "first text ms, p50",
    "p99",
    "whole answer ms, p50",
    "p99",
    "CPU ms per request",
    "MB before",
    "MB after",
    "peak MB",
    "errors",
]
ANSWER = "d50-c20"  # 20 pieces of 4 characters
LONG_ANSWER = "d50-c80-b5000"  # 400 kB, more than what the sockets of a slow reader hold
CLIENTS = 200
SLOW_SECONDS = 8


def measure(infos: list[AdapterInfo], settings: Settings, scratch: Path) -> dict[str, Json]:
    """Run rounds, the servers in turn, and a soak of each; then slow readers, server by server."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ServerProcess(info, settings.base(ANSWER), scratch))
            for info in infos
        ]
        results = {server.info.name: {"streams": _start(server, ANSWER)} for server in servers}
        for number in range(settings.repeat(4, 1)):
            for server in servers:
                row = results[server.info.name]["streams"]
                _round(server, row, ANSWER, name=f"round-{number}", clients=CLIENTS, questions=1)
        soak: Json = {"questions": 10, "limit": settings.repeat(15, 5)}
        for server in servers:
            row = results[server.info.name]["soak"] = _start(server, ANSWER)
            _round(server, row, ANSWER, name="soak", clients=CLIENTS, **soak)
    slow: Json = {"slow": CLIENTS, "seconds": SLOW_SECONDS, "limit": 20}
    for info in infos:
        with ServerProcess(info, settings.base(LONG_ANSWER), scratch) as server:
            row = results[info.name]["beside slow"] = _start(server, LONG_ANSWER)
            _round(server, row, LONG_ANSWER, name="beside", clients=8, questions=3, **slow)
    return results


def _start(server: ServerProcess, behaviour: str) -> Json:
    """Warm a server up, and return the row to which its rounds add."""
    row: Json = {"rounds": [], "first": [], "whole": [], "errors": []}
    _clients(server, behaviour, name="warm", clients=20, questions=1)
    reset_peak(server.process.pid)
    return row | {"before_mb": resident_mb(server.process.pid)}


def _round(server: ServerProcess, row: Json, behaviour: str, **job: Any) -> None:
    cpu, start = server.cpu(), time.perf_counter()
    came = _clients(server, behaviour, **job)
    answers = len(came["whole"])
    row["rounds"].append(
        {
            "per_second": answers / came["seconds"],
            "cpu_ms": (server.cpu() - cpu) / max(1, answers) * 1e3,
            "resident_mb": resident_mb(server.process.pid),
        }
    )
    for key in ("first", "whole", "errors"):
        row[key] += came[key]
    row["peak_mb"] = peak_mb(server.process.pid)
    took = time.perf_counter() - start
    print(f"L {server.info.name:20}{took:6.1f} s  {job['name']} {came['errors'][:1]}", flush=True)


def _clients(server: ServerProcess, behaviour: str, **job: Any) -> Json:
    about = {"port": server.port, "request": server.info.request, "text": server.info.text}
    about |= {"behaviour": behaviour, **job}
    done = run([python("mock_server"), "-m", "bench.load_client", json.dumps(about)], clean())
    if done.code:
        raise RuntimeError(f"the clients of {server.info.name}: {done.stderr[-300:]}")
    came: Json = json.loads(done.last_line())
    return came


def rows(result: Json) -> list[list[Cell]]:
    """Return a row per load."""
    titles = {
        "streams": "200 clients",
        "soak": "200 clients without a pause",
        "beside slow": "8 clients beside 200 slow readers, long answers",
    }
    return [_row(title, result[name]) for name, title in titles.items()]


def _row(title: str, row: Json) -> list[Cell]:
    rate, cpu = (spread([r[key] for r in row["rounds"]]) for key in ("per_second", "cpu_ms"))
    times = [
        percentile(row[key], fraction) * 1e3 if row[key] else None
        for key in ("first", "whole")
        for fraction in (0.5, 0.99)
    ]
    requests = f"{title}, {len(row['whole']):,} requests"
    memory = [row["before_mb"], row["rounds"][-1]["resident_mb"], row["peak_mb"]]
    # Beside slow readers most of the CPU went to their answers.
    spent = None if "slow" in title else _between(cpu)
    return [requests, _between(rate), *times, spent, *memory, len(row["errors"])]


def _between(values: Json) -> str:
    return f"{values['median']:.1f} ({values['min']:.1f} to {values['max']:.1f})"
