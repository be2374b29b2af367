"""The template's own files, and what a project must look like that was made from them."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from answers import CI, CONTAINER_FILES, MODULES, SDKS, Answers

ROOT = Path(__file__).parent.parent
PARTS = ("copier.yml", "reserved.txt", "hooks", "template")
CODE_ROOT = "{{ code_root }}"
REQUIREMENTS = "agentkit-requirements.txt"
SAMPLE = ("/agentkit/__init__.py", "/agentkit/errors.py")
# Written once, then the user's.
USERS_FILES = (
    f"{CODE_ROOT}/__init__.py",
    f"{CODE_ROOT}/__main__.py",
    f"{CODE_ROOT}/main.py",
    f"{CODE_ROOT}/tools.py",
    "tests/__init__.py",
    "tests/conftest.py",
    "tests/test_agent.py",
    "README.md",
    "AGENTS.md",
    ".gitignore",
    ".gitattributes",
    ".env.example",
    ".github/workflows/agent.yml",
)


@functools.cache
def source_files() -> tuple[str, ...]:
    """Paths of the template's files, as a commit of the working tree would hold them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PARTS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    names = sorted(set(filter(None, done.stdout.split("\0"))))
    return tuple(name for name in names if (ROOT / name).is_file())


def copy_sources(target: Path, *, whole: bool = True) -> None:
    """Copy the template's files, without caches and empty folders.

    Copier takes milliseconds per file, so tests that look at other files than agentkit's take
    two of these only: `whole=False`.
    """
    for name in source_files():
        if not whole and "/agentkit/" in name and not name.endswith(SAMPLE):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


@functools.cache
def template_files() -> list[str]:
    """Paths below template/, as in a project except for the folder of the code."""
    prefix = "template/"
    names = [name.removeprefix(prefix) for name in source_files() if name.startswith(prefix)]
    return [name.removesuffix(".jinja") for name in names]


def in_project(name: str, code_root: str) -> str:
    """Return the path that a file of the template has in a project."""
    name = name.replace(CODE_ROOT, code_root).removeprefix("./")
    return name.replace("{{ _copier_conf.answers_file }}", ".copier-answers.yml")


def expected_files(
    answers: Answers, code_root: str = "src/my_agent", *, foreign: bool = False
) -> set[str]:
    """Return the files that a project with these answers consists of."""
    chosen = {*answers.get("sdks", ()), *answers.get("modules", ()), answers.get("ci", "github")}
    expected: set[str] = set()
    for owners, names in _files_by_owners(code_root, foreign).items():
        if not owners or owners & chosen:
            expected |= names
    return expected


@functools.cache
def _files_by_owners(code_root: str, foreign: bool) -> dict[frozenset[str], set[str]]:
    """Return a project's files by the options that bring them; those of no option are always in."""
    left_out = {*USERS_FILES, *CONTAINER_FILES, "pyproject.toml"} if foreign else {REQUIREMENTS}
    files: dict[frozenset[str], set[str]] = {}
    for name in template_files():
        if name not in left_out:
            files.setdefault(owners_of(name), set()).add(in_project(name, code_root))
    return files


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a path of the template ends as one of the patterns says."""
    return any(fnmatchcase(name, f"*{pattern}") for pattern in patterns)


def files_of(project: Path) -> set[str]:
    """Return the paths of all files in a project, except git's own."""
    names = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    return {name for name in names if not name.startswith(".git/")}


@functools.cache
def owners_of(name: str) -> frozenset[str]:
    """Return the options that bring a file of the template."""
    options = {**SDKS, **MODULES, **CI}
    return frozenset(option for option, patterns in options.items() if matches(name, patterns))
