"""Render the template of the working tree into a folder, as a user would get it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import environments

THE_TEMPLATE = ("copier.yml", "reserved.txt", "template", "hooks")
LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")
PROJECT_NAME = "bench-agent"


def render(answers: dict[str, str], scratch: Path) -> Path:
    """Return the project for these answers, rendered once per scratch folder.

    BENCH_PROJECT names a rendered project to measure instead of the default one.
    """
    given = os.environ.get("BENCH_PROJECT")
    if given and not answers:
        return Path(given).resolve()
    key = "-".join(f"{name}-{value}" for name, value in sorted(answers.items())) or "default"
    target = scratch / "projects" / re.sub(r"[^a-z0-9-]", "", key) / PROJECT_NAME
    if not target.exists():
        copier("copy", *_data(answers), template(scratch), target)
    return target


def template(scratch: Path) -> Path:
    """Return a copy of the working tree without its history, so that uncommitted work counts."""
    copy = scratch / "template-tree"
    for name in THE_TEMPLATE if not copy.exists() else ():
        source, target = environments.ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=LEFT_BEHIND)
        else:
            shutil.copy(source, target)
    return copy


def import_roots(project: Path) -> list[str]:
    """Return the folders from which the project's package and `agentkit` itself are imported."""
    root = next(iter(sorted(project.rglob("agentkit/__init__.py"))), None)
    if root is None:
        raise SystemExit(f"no agentkit in {project}; is BENCH_PROJECT a generated project?")
    package = root.parent.parent
    return [str(package.parent), str(package)]


def copier(command: str, *arguments: str | Path) -> None:
    """Run Copier without tasks and questions, or exit with its last line."""
    line = [environments.python("copier"), "-m", "copier", command, "-T", "--defaults", "--quiet"]
    done = subprocess.run(
        [*line, *map(str, arguments)],
        env=environments.clean(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"copier {command}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")


def _data(answers: dict[str, str]) -> list[str]:
    pairs = {"project_name": PROJECT_NAME, **answers}
    return [word for name, value in pairs.items() for word in ("-d", f"{name}={value}")]
