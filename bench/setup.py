"""Make the environments with uv."""

import shutil
import subprocess
from pathlib import Path

from . import project
from .catalog import AdapterInfo
from .environments import FLOOR_SITE, REQUIREMENTS, VENVS, clean, python


def setup(adapters: list[AdapterInfo], scratch: Path) -> None:
    """Create the environments of these adapters, with byte code compiled."""
    VENVS.mkdir(parents=True, exist_ok=True)
    for venv in ["mock_server", "copier"]:
        _sync(venv)
    _uv("pip", "install", "--target", FLOOR_SITE, "-r", REQUIREMENTS / "raw_httpx2.txt")
    for info in adapters:
        _sync(info.venv)
        if info.project is not None:
            _install_project(info, scratch)
        print("ready", info.name, flush=True)


def _sync(venv: str) -> None:
    folder = VENVS / venv
    if not folder.exists():
        _uv("venv", "--python", "3.11", folder)
    pins = REQUIREMENTS / f"{venv}.txt"
    _uv("pip", "sync", "--compile-bytecode", "--python", python(venv), pins)


def _install_project(info: AdapterInfo, scratch: Path) -> None:
    # The pins follow the project by hand; what it needs and they lack is installed all the same.
    needs = project.render(info.project or {}, scratch) / "pyproject.toml"
    pins = REQUIREMENTS / f"{info.venv}.txt"
    target = ("--python", python(info.venv), "--compile-bytecode")
    _uv("pip", "install", *target, "-r", needs, "--constraint", pins)


def _uv(*arguments: str | Path) -> None:
    if shutil.which("uv") is None:
        raise SystemExit("the benchmark needs uv to make its environments: pip install uv")
    subprocess.run(["uv", *map(str, arguments), "--quiet"], check=True, env=clean())
