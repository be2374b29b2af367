"""K: `copier copy` and `copier update`, against a template of as many empty files.

CPU includes the git processes that Copier starts. Tasks are left out: they run a test suite.
Peers make their default project with their own command.
"""

import shutil
import subprocess
from pathlib import Path

from ..adapter import Json
from ..catalog import AdapterInfo
from ..environments import clean, python
from ..measure import Settings, spread
from ..processes import run
from ..project import PROJECT_NAME, template
from . import Cell, Skipped, ratio

TITLE = "K. Generation without tasks, against Copier on as many empty files"
COLUMNS = ["command", "files", "CPU s", "wall s", "empty template, wall s", "x empty template, CPU"]
ANSWERS = "{{ _copier_conf.answers_file }}.jinja"
ANSWERS_TEXT = "{{ _copier_answers|to_nice_yaml }}\n"
FIRST, SECOND = "v0.1.0", "v0.2.0"


def measure(info: AdapterInfo, settings: Settings, scratch: Path) -> Json:
    """Alternate both templates: copy of the first release, then update to a second one."""
    if info.generate:
        return _of_a_peer(info, settings.repeat(5, 2), scratch)
    if info.project is None:
        raise Skipped("no template")
    work = scratch / "generation"
    work.mkdir()
    ours = _release(template(scratch), work / "ours")
    _copy(ours, work / "list" / PROJECT_NAME)
    files = _files(work / "list" / PROJECT_NAME)
    empty = _release(_empty(files, work / "empty-tree"), work / "empty")
    pairs = [
        (_cycle(ours, work / f"o{n}"), _cycle(empty, work / f"e{n}"))
        for n in range(settings.repeat(5, 2))
    ]
    return {
        "files": len(files),
        **{
            command: _compare([(a[command], b[command]) for a, b in pairs])
            for command in ("copy", "update")
        },
    }


def _of_a_peer(info: AdapterInfo, repeat: int, scratch: Path) -> Json:
    command = Path(python(info.venv)).with_name(info.generate[0])
    work = scratch / info.name
    runs = []
    for number in range(repeat):
        folder = work / str(number)
        folder.mkdir(parents=True)
        done = run([str(command), *info.generate[1:]], clean(), folder)
        if done.code:
            raise RuntimeError(f"{info.generate[0]}: {(done.stderr or done.stdout)[-300:]}")
        runs.append({"wall_s": done.wall, "cpu_s": done.cpu})
    times = {key: spread([row[key] for row in runs]) for key in ("wall_s", "cpu_s")}
    files = [
        path for path in (work / "0").rglob("*") if path.is_file() and ".git/" not in str(path)
    ]
    return {"command": " ".join(info.generate), "files": len(files), **times}


def _compare(pairs: list[tuple[Json, Json]]) -> Json:
    sides = {"template": [ours for ours, _ in pairs], "empty": [empty for _, empty in pairs]}
    return {
        side: {key: spread([row[key] for row in rows]) for key in ("wall_s", "cpu_s")}
        for side, rows in sides.items()
    } | {"ratio_cpu": spread([ours["cpu_s"] / empty["cpu_s"] for ours, empty in pairs])}


def _cycle(repository: Path, folder: Path) -> Json:
    project = folder / PROJECT_NAME
    copied = _copy(repository, project)
    _commit(project)
    updated = _copier(["update", "--trust", "-r", SECOND, str(project)])
    return {"copy": copied, "update": updated}


def _copy(repository: Path, target: Path) -> Json:
    data = ["-d", f"project_name={PROJECT_NAME}"]
    return _copier(["copy", "-r", FIRST, *data, str(repository), str(target)])


def _copier(arguments: list[str]) -> Json:
    command, *rest = arguments
    line = [python("copier"), "-m", "copier", command, "-T", "--defaults", "--quiet", *rest]
    done = run(line, clean())
    if done.code:
        raise RuntimeError(f"copier {command}: {done.stderr[-300:]}")
    return {"wall_s": done.wall, "cpu_s": done.cpu}


def _release(tree: Path, repository: Path) -> Path:
    """Make a repository with two releases; the second adds a line to one Python file."""
    shutil.copytree(tree, repository)
    _commit(repository, FIRST)
    changed = min(repository.rglob("agentkit/*.py"))
    changed.write_text(changed.read_text() + "# The second release.\n")
    _commit(repository, SECOND)
    return repository


def _empty(files: list[Path], tree: Path) -> Path:
    """Make a template of empty files with these paths; only the answers file has content."""
    for path in files:
        target = tree / "template" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    (tree / "template" / ANSWERS).write_text(ANSWERS_TEXT)
    settings = "_subdirectory: template\nproject_name:\n  type: str\n  default: x\n"
    (tree / "copier.yml").write_text(settings)
    return tree


def _files(project: Path) -> list[Path]:
    found = (path.relative_to(project) for path in project.rglob("*") if path.is_file())
    return sorted(path for path in found if path.name != ".copier-answers.yml")


def _commit(repository: Path, tag: str | None = None) -> None:
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    commands = [["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "-m", tag or "project"]]
    for command in [*commands, *([["tag", tag]] if tag else [])]:
        subprocess.run(["git", *command], cwd=repository, check=True, env=clean())


def rows(result: Json) -> list[list[Cell]]:
    """Return a row per command."""
    if "command" in result:
        cpu, wall = result["cpu_s"]["median"], result["wall_s"]["median"]
        return [[result["command"], result["files"], cpu, wall, None, None]]
    return [
        [
            f"copier {command} -T",
            result["files"] + 1,
            result[command]["template"]["cpu_s"]["median"],
            result[command]["template"]["wall_s"]["median"],
            result[command]["empty"]["wall_s"]["median"],
            ratio(result[command]["ratio_cpu"]),
        ]
        for command in ("copy", "update")
    ]
