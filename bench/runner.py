"""Run scenarios over adapters and keep what they measured as JSON, one file per adapter."""

import json
import os
import platform
import re
import time
from importlib import import_module
from pathlib import Path

from . import catalog, environments, launch, processes
from .adapter import Json
from .catalog import AdapterInfo
from .measure import Settings
from .scenarios import PROCESSES, SERVERS, Skipped


def measure(
    adapters: list[AdapterInfo],
    letters: str,
    server: str,
    folder: Path,
    scratch: Path,
    quick: bool,
) -> None:
    """Measure scenario by scenario, all adapters of one after another, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(machine(scratch), indent=1))
    settings = Settings(server, quick)
    for letter in letters:
        if letter in SERVERS:
            _of_servers(adapters, letter, settings, folder, scratch)
            continue
        for info in adapters:
            start = time.perf_counter()
            result = _one(info, letter, settings, scratch)
            _keep(folder / f"{info.name}.json", info, letter, result)
            note = str(result.get("error") or result.get("skipped") or "")[-200:]
            seconds = time.perf_counter() - start
            print(f"{letter} {info.name:16}{seconds:6.1f} s  {note}", flush=True)


def _one(info: AdapterInfo, letter: str, settings: Settings, scratch: Path) -> Json:
    if info.generate and letter != "K":
        return {"skipped": "makes projects"}
    if info.request:
        return {"skipped": "a server, see L"}
    if letter in PROCESSES:
        return _of_processes(info, letter, settings, scratch)
    command = [environments.python(info.venv), "-m", "bench.worker", info.name, letter]
    command += [settings.server, *(["quick"] if settings.quick else [])]
    done = processes.run(command, launch.variables(info, scratch))
    try:
        result: Json = json.loads(done.last_line())
    except ValueError:
        result = {"error": f"exit {done.code}: {done.stderr[-600:]}"}
    return result


def _of_processes(info: AdapterInfo, letter: str, settings: Settings, scratch: Path) -> Json:
    scenario = import_module(f"bench.scenarios.{PROCESSES[letter]}")
    try:
        result: Json = scenario.measure(info, settings, scratch)
    except Skipped as reason:
        result = {"skipped": str(reason)}
    except RuntimeError as error:
        result = {"error": str(error)}
    return result


def _of_servers(
    infos: list[AdapterInfo], letter: str, settings: Settings, folder: Path, scratch: Path
) -> None:
    """Measure the servers among them, or all there are."""
    given = [info for info in infos if info.request]
    servers = given or [catalog.read(name) for name in catalog.server_names()]
    scenario = import_module(f"bench.scenarios.{SERVERS[letter]}")
    try:
        results: dict[str, Json] = scenario.measure(servers, settings, scratch)
    except RuntimeError as error:
        results = {info.name: {"error": str(error)} for info in servers}
    for info in servers:
        _keep(folder / f"{info.name}.json", info, letter, results[info.name])


def _keep(path: Path, info: AdapterInfo, letter: str, result: Json) -> None:
    data: Json = {"scenarios": {}}
    if path.exists():
        data = json.loads(path.read_text())
    data |= {"title": info.title, "versions": versions(info)}
    data["scenarios"][letter] = result
    path.write_text(json.dumps(data, indent=1))


def versions(info: AdapterInfo) -> dict[str, str]:
    """Return the installed version of each package that the adapter's requirements name."""
    asked = (environments.REQUIREMENTS / f"{info.venv}.in").read_text().split()
    names = {re.split(r"[\[<>=]", word)[0].lower().replace("-", "_") for word in asked}
    found = environments.site_packages(info.venv).glob("*.dist-info")
    pairs = (path.stem.removesuffix(".dist-info").split("-", 1) for path in found)
    return {name: version for name, version in sorted(pairs) if name.lower() in names}


def machine(scratch: Path) -> Json:
    """Describe where and when the run took place, and on what kind of disk."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "cpu": _cpu(),
        "python": platform.python_version(),
        "system": platform.system(),
        "load": os.getloadavg(),
        "file_system": _file_system(scratch),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    found = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(found, platform.machine())


def _file_system(folder: Path) -> str:
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "an unknown file system"
    parents = {str(parent) for parent in (folder, *folder.resolve().parents)}
    above = [(len(point), kind) for point, kind in mounts if point in parents]
    return max(above, default=(0, "an unknown file system"))[1]
