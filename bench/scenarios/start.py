"""A: a new process: the import, the first reply, and what the installation weighs."""

from collections.abc import Sequence
from pathlib import Path

from ..adapter import Json
from ..catalog import AdapterInfo
from ..environments import python, site_packages
from ..launch import variables
from ..measure import Settings, spread
from ..processes import Finished, run
from . import Cell, ratio

TITLE = "A. Start: import, memory, first reply, footprint"
COLUMNS = [
    "import CPU ms",
    "wall ms",
    "x httpx2 + pydantic",
    "MB above bare Python",
    "MB above httpx2 + pydantic",
    "modules",
    "without byte code, ms",
    "process start to first reply, ms",
    "packages",
    "site-packages MB",
]
BARE = "pass"
FLOOR = "import httpx2; from pydantic import BaseModel, TypeAdapter"
PROBE = """
import time, sys, os
wall, cpu = time.perf_counter(), time.process_time()
{statement}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
print(wall * 1e3, cpu * 1e3, resident / 2**20, len(sys.modules), flush=True)
os._exit(0)
"""


def measure(info: AdapterInfo, settings: Settings, scratch: Path) -> Json:
    """Alternate new processes with nothing, with the libraries alone, and with the runtime."""
    environment = variables(info, scratch)
    statements = {"bare": BARE, "floor": FLOOR, "adapter": info.import_statement}
    probes: dict[str, list[list[float]]] = {name: [] for name in statements}
    for number in range(settings.repeat(7, 3) + 1):
        for name, statement in statements.items():
            values = _probe(info, statement, environment)
            if number and values:  # the first round warms byte code and page cache
                probes[name].append(values)
    if not probes["adapter"]:
        raise RuntimeError(f"cannot run: {info.import_statement}")
    return {
        "import": {name: _summary(rows) for name, rows in probes.items() if rows},
        "ratio_cpu": _ratios(probes["adapter"], probes["floor"]),
        "no_bytecode_ms": _without_bytecode(info, environment),
        "first_reply_ms": _first_reply(info, settings, environment),
        **_footprint(site_packages(info.venv)),
    }


def _probe(info: AdapterInfo, statement: str, environment: dict[str, str]) -> list[float]:
    code = PROBE.format(statement=statement)
    finished = run([python(info.venv), "-c", code], environment)
    return [] if finished.code else [float(word) for word in finished.last_line().split()]


def _summary(rows: Sequence[Sequence[float]]) -> Json:
    names = ("wall_ms", "cpu_ms", "resident_mb", "modules")
    return {
        name: spread(list(values))
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    }


def _ratios(adapter: list[list[float]], floor: list[list[float]]) -> Json | None:
    return spread([a[1] / f[1] for a, f in zip(adapter, floor, strict=True)]) if floor else None


def _without_bytecode(info: AdapterInfo, environment: dict[str, str]) -> float:
    off = {"PYTHONPYCACHEPREFIX": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    values = _probe(info, info.import_statement, {**environment, **off})
    return values[0] if values else 0.0


def _first_reply(info: AdapterInfo, settings: Settings, environment: dict[str, str]) -> Json:
    command = [python(info.venv), "-m", "bench.first_reply", info.name, settings.base("x")]
    runs: list[Finished] = [run(command, environment) for _ in range(settings.repeat(5, 2))]
    failed = next((done for done in runs if done.code), None)
    if failed:
        raise RuntimeError(f"no first reply: {failed.stderr[-300:]}")
    return spread([done.wall for done in runs], 1e3)


def _footprint(site: Path) -> Json:
    files = [path for path in site.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        "packages": len(list(site.glob("*.dist-info"))),
        "site_mb": sum(path.stat().st_size for path in files) / 2**20,
    }


def rows(result: Json) -> list[list[Cell]]:
    """Return the row of one adapter."""
    adapter, bare, floor = (result["import"].get(name) for name in ("adapter", "bare", "floor"))
    resident = adapter["resident_mb"]["median"]
    return [
        [
            adapter["cpu_ms"]["median"],
            adapter["wall_ms"]["median"],
            ratio(result["ratio_cpu"]) if floor else None,
            resident - bare["resident_mb"]["median"],
            resident - floor["resident_mb"]["median"] if floor else None,
            int(adapter["modules"]["median"]),
            result["no_bytecode_ms"],
            result["first_reply_ms"]["median"],
            result["packages"],
            result["site_mb"],
        ]
    ]
