"""Stand-ins for the tests of the hook: a small project, and a `uv` that does as it is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
GIT = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
SLUGS = ["imports", "requester", "agent", "compactor", "run_ids", "logger", "costs"]
SLUGS += ["artifacts", "secrets"]
GREEN: dict[str, Any] = {
    "passed": 12,
    "failed": 0,
    "skipped": 0,
    "checklist": {slug: {"passed": 1, "failed": 0, "skipped": 0} for slug in SLUGS},
}

# Writes the report that agentkit's own conftest writes, for tests that carry a marker.
CONFTEST = """\
import json
import os

MARKED = {}
COUNTS = {}


def pytest_configure(config):
    config.addinivalue_line("markers", "checklist(slug): backs a line of the checklist")


def pytest_collection_modifyitems(items):
    for item in items:
        marker = item.get_closest_marker("checklist")
        MARKED[item.nodeid] = marker.args[0] if marker else None


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome == "skipped":
        for slug in (None, MARKED[report.nodeid]):
            counts = COUNTS.setdefault(slug, {"passed": 0, "failed": 0, "skipped": 0})
            counts[report.outcome] += 1


def pytest_sessionfinish():
    if path := os.environ.get("AGENTKIT_REPORT"):
        total = COUNTS.pop(None, {"passed": 0, "failed": 0, "skipped": 0})
        with open(path, "w") as file:
            json.dump({**total, "checklist": COUNTS}, file)
"""
TESTS = """\
import pytest


@pytest.mark.checklist("imports")
def test_imports():
    from .. import VALUE

    assert VALUE == 1
"""
PYPROJECT = """\
[project]
name = "demo"
version = "0"
requires-python = ">=3.11"
scripts = { demo = "demo.agentkit:main" }

[dependency-groups]
dev = ["pytest", "ruff"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["src/demo"]
"""


@dataclass(frozen=True)
class Ended:
    """What a run of the hook left behind."""

    code: int
    output: str
    report: dict[str, Any]
    log: str


def write(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make_project(folder: Path, code_root: str = "src/demo") -> Path:
    """Write a project with a package agentkit that has one test."""
    kit = folder / code_root / "agentkit"
    write(kit / "__init__.py", "VALUE = 1\n\n\ndef main() -> None:\n    print(VALUE)\n")
    write(kit / "tests" / "__init__.py", "")
    write(kit / "tests" / "conftest.py", CONFTEST)
    write(kit / "tests" / "test_imports.py", TESTS)
    write(folder / "pyproject.toml", PYPROJECT)
    return folder


def fake_tool(folder: Path, name: str, code: str) -> Path:
    """Put a Python program with a tool's name into a folder that serves as PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / name
    head = f"#!{sys.executable}\nimport json, os, sys, time\nargs = sys.argv[1:]\n"
    script.write_text(head + code + "\n", encoding="utf-8")
    script.chmod(0o755)
    return folder


def fake_uv(
    folder: Path,
    *,
    sync: str = "pass",
    tests: str = "print('12 passed in 0.01s')",
    ruff: str = "pass",
    results: dict[str, Any] | None = GREEN,
) -> Path:
    """Put a uv into `folder` that runs the given code for each of its three jobs."""
    report = ""
    if results is not None:
        report = f"open(os.environ['AGENTKIT_REPORT'], 'w').write({json.dumps(results)!r})"
    lines = {"'pytest' in args": [report, tests], "'ruff' in args": [ruff], "True": [sync]}
    code = ""
    for condition, body in lines.items():
        block = "\n".join(body).strip().replace("\n", "\n    ")
        code += f"if {condition}:\n    {block}\n    sys.exit()\n"
    return fake_tool(folder, "uv", code)


def environment(path: Path | str, **extra: str) -> dict[str, str]:
    """Return a small environment with PATH as given; Copier's variables are not in it."""
    kept = {"HOME", "TMPDIR", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    prefixes = ("UV_", "PIP_")
    base = {k: v for k, v in os.environ.items() if k in kept or k.startswith(prefixes)}
    return {**base, "PYTHONIOENCODING": "utf-8", "PATH": str(path), **extra}


def hook_command(
    operation: str = "copy",
    code_root: str = "src/demo",
    kind: str = "own",
    manager: str = "uv",
    name: str = "demo",
) -> list[str]:
    """Return the command with which Copier starts the hook."""
    script = str(HOOKS / "post_gen.py")
    return [sys.executable, "-B", script, operation, code_root, kind, manager, name]


def run_hook(
    project: Path, path: Path | str, command: list[str] | None = None, /, **extra: str
) -> Ended:
    """Run the hook in a project; it prints nothing to stderr, whatever happens."""
    done = subprocess.run(
        command or hook_command(),
        cwd=project,
        env=environment(path, **extra),
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )
    assert done.stderr == ""
    return ended(project, done.returncode, done.stdout)


def ended(project: Path, code: int, output: str) -> Ended:
    """Collect what the hook left in the project."""
    report, log = project / ".agentkit" / "post_gen.yml", project / ".agentkit" / "post_gen.log"
    return Ended(
        code,
        output,
        json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {},
        log.read_text(encoding="utf-8") if log.is_file() else "",
    )


def ends(pid: int) -> bool:
    """Tell whether a process that was told to end does so within ten seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        # A zombie has ended; nobody has asked for its exit status yet.
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        os.sched_yield()
    return False


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    command = [*GIT, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit_all(folder: Path, message: str = "state") -> None:
    """Commit everything in a folder, which becomes a repository when it is in none."""
    inside = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=folder, capture_output=True)
    if inside.returncode != 0:
        git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
