"""An existing project's own tools stay green with agentkit inside, however strict they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Render
from sources import ROOT, source_files
from test_existing import write

PLUGINS = ["pytest-asyncio>=1.5,<2", "pytest-randomly>=4,<6"]
SETTINGS = """\
[project]
name = "shop"
version = "1"

[tool.pytest.ini_options]
addopts = ["--strict-markers", "--strict-config", "--import-mode=importlib", "-W", "error"]
asyncio_mode = "strict"
asyncio_default_fixture_loop_scope = "session"
strict_parametrization_ids = true
filterwarnings = ["error"]

[tool.ruff]
line-length = 79

[tool.ruff.lint]
select = ["ALL"]
"""
# Their fixtures have names that agentkit uses, and one holds for all tests.
CONFTEST = """\
import pytest

@pytest.fixture
def tmp_path():
    raise AssertionError

@pytest.fixture
def logger():
    raise AssertionError

@pytest.fixture(autouse=True)
def theirs():
    pass
"""
OWN_TEST = """\
import pytest
from shop.agentkit import Agent

@pytest.mark.asyncio
async def test_answer():
    assert "hi" in await Agent("chat://offline/echo").chat("hi")
"""
FILES = {
    "pyproject.toml": SETTINGS,
    "conftest.py": CONFTEST,
    "tests/test_own.py": OWN_TEST,
    "src/shop/__init__.py": "",
    # A name of the standard library's, which is theirs to use in a package.
    "src/shop/typing.py": "",
}
# Of the suite what has most to do with pytest: fixtures, async tests, processes of their own.
SOME = ("agent", "test_exports.py", "session/test_sqlite_store.py", "tools/test_thread.py")
KIT = "src/shop/agentkit"


@pytest.fixture(scope="session")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plugins that this environment lacks, because they hold for all of its tests."""
    folder = tmp_path_factory.mktemp("plugins")
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PLUGINS]
    done = subprocess.run([*command, "--python", sys.executable], capture_output=True, text=True)
    if done.returncode != 0:
        message = f"the plugins cannot be downloaded: {done.stderr.strip()}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return folder


@pytest.fixture
def shop(render_whole: Render, tmp_path: Path) -> Path:
    """A strict project with agentkit in its package."""
    write(tmp_path / "shop", FILES)
    return render_whole("shop")


def run(project: Path, *arguments: str, path: str = "") -> str:
    """Run a Python module that must succeed in the project."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV_"))}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(project / "src"), path]))
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_strict_pytest_passes(shop: Path, plugins: Path, workers: str) -> None:
    """Strict markers, strict asyncio, random order, xdist, warnings as errors, their conftest."""
    paths = [f"{KIT}/tests/{name}" for name in SOME]
    options = ["-q", "-p", "no:cacheprovider", "-n", workers]
    assert " passed" in run(shop, "pytest", *options, "tests", *paths, path=str(plugins))


def test_a_strict_ruff_passes(shop: Path) -> None:
    """agentkit brings settings of its own, which are nearer."""
    run(shop, "ruff", "check", "--no-cache", KIT)
    run(shop, "ruff", "format", "--check", "--no-cache", KIT)


def test_mypy_needs_no_stubs() -> None:
    """A project that does not use YAML itself has no reason to install types for it."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in source_files()}
    kit = {name: text for name, text in texts.items() if "/agentkit/" in name}
    lines = [
        line for text in kit.values() for line in re.findall(r"^\s*import yaml\b.*$", text, re.M)
    ]
    assert lines
    assert not [line for line in lines if "ignore[import-untyped, unused-ignore]" not in line]
