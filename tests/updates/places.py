"""Templates with an older and a newer release, and projects that are made from the older one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from answers import MODULES, SDKS, Answers
from hook_project import environment, fake_uv
from repositories import commit, copy, git, release, start_repository
from sources import CODE_ROOT, ROOT, SAMPLE, owners_of, source_files

OLD, NEW = "v998.0.0", "v999.0.0"
OLD_YAML, NEW_YAML = "pyyaml>=6.0.1,<7", "pyyaml>=6.0.2,<7"
CODE = "src/my_agent"
KIT = f"{CODE}/agentkit"
LINES = "".join(f"LINE_{number} = {number}\n" for number in range(20))
CHANGED = LINES.replace("LINE_1 = 1\n", "LINE_1 = 'new'\n")
# Stand-ins for files of agentkit: what the older and the newer release have there.
STAND_INS: dict[str, tuple[str | None, str | None]] = {
    "changed": (LINES, CHANGED),
    "same": (LINES, LINES),
    "dropped": (LINES, None),
    "added": (None, LINES),
}
EXISTING = {
    "pyproject.toml": '[project]\nname = "mine"\nversion = "1"\n',
    f"{CODE}/__init__.py": "",
    "README.md": "mine\n",
}


@dataclass(frozen=True)
class Change:
    """The answers of a project before and after its update."""

    name: str
    before: Answers
    after: Answers
    foreign: bool = False

    @property
    def off(self) -> list[str]:
        """What the update switches off."""
        return [name for name in _chosen(self.before) if name not in _chosen(self.after)]


@dataclass(frozen=True)
class Place:
    """A project of the older release, with a PATH on which uv reports green tests."""

    template: Path
    project: Path
    path: str
    change: Change

    def update(self) -> str:
        """Update as a user would, and return what Copier and the hook print."""
        data = [f"--data={name}={value}" for name, value in self.change.after.items()]
        done = subprocess.run(
            [sys.executable, "-m", "copier", "update", "--trust", "--defaults", *data],
            cwd=self.project,
            env=environment(self.path),
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def changes_of_answers() -> list[Change]:
    """Nothing changes, one SDK and one module go, the same in an existing project, SDKs switch."""
    every = {"sdks": list(SDKS), "modules": list(MODULES)}
    fewer = {name: chosen[1:] for name, chosen in every.items()}
    first, second = list(SDKS)[:2]
    return [
        Change("core", {}, {}),
        Change("all, then fewer", every, fewer),
        Change("existing project, fewer", every, fewer, foreign=True),
        Change("SDK switched", {"sdks": [first]}, {"sdks": [second]}),
    ]


def make_template(
    folder: Path, stand_ins: dict[str, str], *, base: str | None = None, whole: bool = True
) -> Path:
    """Make a repository with two releases that differ in the stand-ins and in a dependency.

    `base` is a commit that the older release is made from, by default it is the working tree.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    if base is None:
        _copy_sources(folder, whole=whole)
    else:
        git(folder, "fetch", "--quiet", str(ROOT), base)
        git(folder, "checkout", "--quiet", base, "--", ".")
    _write_stand_ins(folder, stand_ins, age=0)
    _require_older_yaml(folder)
    release(folder, OLD)
    git(folder, "rm", "--quiet", "-r", "--ignore-unmatch", ".")
    _copy_sources(folder, whole=whole)
    _write_stand_ins(folder, stand_ins, age=1)
    release(folder, NEW)
    return folder


def make_place(template: Path, folder: Path, change: Change) -> Place:
    """Make a project of the older release, committed once."""
    project = folder / "my-agent"
    project.mkdir(parents=True)
    if change.foreign:
        for name, text in EXISTING.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text, encoding="utf-8")
    copy(template, project, OLD, **change.before)
    start_repository(project)
    tools, found = fake_uv(folder / "bin"), shutil.which("git")
    assert found is not None
    return Place(template, project, f"{tools}:{Path(found).parent}:/usr/bin:/bin", change)


def file_of(option: str) -> str:
    """Return a file of agentkit, as a path in the project, that only this option brings."""
    names = [name.removeprefix("template/") for name in source_files()]
    owned = (n for n in names if n.endswith(".py") and "/tests/" not in n)
    return next(n for n in owned if owners_of(n) == {option}).replace(CODE_ROOT, CODE)


def commit_edits(place: Place) -> None:
    """Commit what was done to the project: an update needs a clean tree."""
    commit(place.project, "edits")


def _copy_sources(target: Path, *, whole: bool) -> None:
    for name in source_files():
        inside = "/agentkit/" in name and not name.endswith(SAMPLE)
        optional = owners_of(name.removeprefix("template/")) and "/tests/" not in name
        if not whole and inside and not optional:
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def _write_stand_ins(folder: Path, stand_ins: dict[str, str], *, age: int) -> None:
    kit = folder / "template" / CODE_ROOT / "agentkit"
    for name, kind in stand_ins.items():
        text = STAND_INS[kind][age]
        if text is None:
            (kit / name).unlink(missing_ok=True)
        else:
            (kit / name).write_text(text, encoding="utf-8")


def _require_older_yaml(folder: Path) -> None:
    """Let the older release need another version, in both lists of requirements."""
    for name in ("pyproject.toml.jinja", "agentkit-requirements.txt.jinja"):
        path = folder / "template" / name
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"pyyaml>=[0-9.]+,<7", OLD_YAML, text), encoding="utf-8")


def _chosen(answers: Answers) -> list[str]:
    return [*answers.get("sdks", ()), *answers.get("modules", ())]
