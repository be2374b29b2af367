"""H: the generated command line, from the start of its process to the offline model's answer."""

from pathlib import Path

from ..adapter import Json
from ..catalog import AdapterInfo
from ..environments import python
from ..launch import variables
from ..measure import Settings, spread
from ..processes import run
from ..project import PROJECT_NAME
from . import Cell, Skipped, ratio

TITLE = "H. The generated command line, from process start to the answer of chat://offline/echo"
COLUMNS = [
    "command",
    "wall ms, min",
    "median",
    "max",
    "CPU ms",
    "x the imports alone, CPU",
]
IMPORTS = "import asyncio, httpx2, typer, rich.console; from pydantic import BaseModel, TypeAdapter"
QUESTION = "how are you?"


def measure(info: AdapterInfo, settings: Settings, scratch: Path) -> Json:
    """Alternate the command with a process that only imports the libraries it is built on."""
    if info.project is None:
        raise Skipped("no generated command line")
    environment = variables(info, scratch)
    module = PROJECT_NAME.replace("-", "_")
    ask = ["-m", module, "ask", QUESTION, "--model", "chat://offline/echo"]
    commands = {"bare": ["-c", "pass"], "imports": ["-c", IMPORTS], "ask": ask}
    runs: dict[str, list[Json]] = {name: [] for name in commands}
    for number in range(settings.repeat(9, 3) + 1):
        for name, arguments in commands.items():
            row = _timed([python(info.venv), *arguments], environment, scratch, name)
            if number:
                runs[name].append(row)
    return {
        name: {key: spread([r[key] for r in rows]) for key in rows[0]}
        for name, rows in runs.items()
    } | {
        "ratio_cpu": spread(
            [a["cpu_ms"] / f["cpu_ms"] for a, f in zip(runs["ask"], runs["imports"], strict=True)]
        )
    }


def _timed(command: list[str], environment: dict[str, str], cwd: Path, name: str) -> Json:
    done = run(command, environment, cwd)
    if done.code or (name == "ask" and QUESTION not in done.stdout):
        raise RuntimeError(f"{' '.join(command[1:])}: {done.stderr[-300:] or done.stdout[-300:]}")
    return {"wall_ms": done.wall * 1e3, "cpu_ms": done.cpu * 1e3}


def rows(result: Json) -> list[list[Cell]]:
    """Return a row for bare Python, for the libraries, and for the command."""
    titles = {"bare": "python -c pass", "imports": "the libraries imported", "ask": "ask"}
    return [
        [
            title,
            *(result[name]["wall_ms"][key] for key in ("min", "median", "max")),
            result[name]["cpu_ms"]["median"],
            ratio(result["ratio_cpu"]) if name == "ask" else None,
        ]
        for name, title in titles.items()
    ]
