"""The hook with real tools: it installs, tests, and leaves nothing behind that git sees."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hook_project import (
    PYPROJECT,
    commit_all,
    git,
    hook_command,
    make_project,
    run_hook,
    write,
)

needs_uv = pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
PATH = os.environ["PATH"]


def without_uv(folder: Path) -> Path:
    """Return a PATH that has git and no uv."""
    folder.mkdir()
    found = shutil.which("git")
    assert found is not None
    (folder / "git").symlink_to(found)
    return folder


@needs_uv
def test_a_new_project_is_installed_and_tested_with_uv(tmp_path: Path) -> None:
    """After the hook the environment works and only the lock file is new."""
    project = make_project(tmp_path / "project")
    write(project / ".gitignore", ".venv/\n")
    write(project / "pyproject.toml", PYPROJECT + "[tool.pytest.ini_options]\naddopts = '--no'\n")
    commit_all(project)
    done = run_hook(project, PATH, AGENTKIT_STRICT="1")
    assert done.code == 0, done.log
    assert "  ✓ All modules import and lint" in done.output
    assert "  ✓ Tests pass" in done.output
    assert "  · Run ids sort newest first (did not run)" in done.output
    assert git(project, "status", "--porcelain").split() == ["??", "uv.lock"]
    assert not list((project / "src").rglob("__pycache__"))
    assert not list(project.glob(".*_cache"))


def test_a_new_project_is_installed_and_tested_without_uv(tmp_path: Path) -> None:
    """venv and a new enough pip do the same, and the printed command runs."""
    project = make_project(tmp_path / "project")
    write(project / ".gitignore", ".venv/\n")
    commit_all(project)
    done = run_hook(project, without_uv(tmp_path / "bin"), AGENTKIT_STRICT="1")
    assert done.code == 0, done.log
    assert "  ✓ All modules import and lint" in done.output
    assert (project / ".venv" / "bin" / "demo").exists()
    assert '  .venv/bin/demo ask "hello"' in done.output
    assert git(project, "status", "--porcelain") == ""


@needs_uv
def test_a_foreign_project_is_tested_apart_from_its_settings(tmp_path: Path) -> None:
    """A conftest that raises, options that fail and missing packages do not matter."""
    project = make_project(tmp_path / "project")
    write(project / "pyproject.toml", PYPROJECT + "[tool.pytest.ini_options]\naddopts = '--no'\n")
    write(project / "src" / "demo" / "__init__.py", "import no_such_package\n")
    write(project / "conftest.py", "raise RuntimeError('not for others')\n")
    write(project / "ruff.toml", "lint.select = ['ALL']\n")
    write(project / "agentkit-requirements.txt", "# nothing\n")
    commit_all(project)
    done = run_hook(project, PATH, hook_command(kind="foreign"), AGENTKIT_STRICT="1")
    assert done.code == 0, done.log
    assert "  ✓ All modules import and lint" in done.output
    assert git(project, "status", "--porcelain", "--ignored").split() == ["!!", ".agentkit/"]


@needs_uv
def test_the_lock_of_a_workspace_around_the_project_stays_as_it_is(tmp_path: Path) -> None:
    """The project is tested in a copy, because uv would add it to the workspace's lock."""
    outer = tmp_path / "outer"
    text = "[tool.uv.workspace]\nmembers = ['packages/*']\n"
    write(outer / "pyproject.toml", text)
    write(outer / "uv.lock", "version = 1\n")
    project = make_project(outer / "packages" / "inner")
    done = run_hook(project, PATH, AGENTKIT_STRICT="1")
    assert done.code == 0, done.log
    assert (outer / "uv.lock").read_text(encoding="utf-8") == "version = 1\n"
    assert not (project / ".venv").exists()


@needs_uv
def test_a_real_uv_without_network_is_one_line(tmp_path: Path) -> None:
    """What uv prints offline is recognised, whatever its version."""
    project = make_project(tmp_path / "project")
    cache = str(tmp_path / "cache")
    done = run_hook(project, PATH, UV_OFFLINE="1", UV_CACHE_DIR=cache, UV_FIND_LINKS="")
    assert done.report["summary"].startswith("the packages could not be downloaded: ")
    assert done.code == 0


def test_a_real_pip_without_network_is_one_line(tmp_path: Path) -> None:
    """What pip prints when no index answers is recognised."""
    project = make_project(tmp_path / "project")
    index = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    none = {"PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_NO_CACHE_DIR": "1"}
    alone = {**index, **none, "PIP_CONFIG_FILE": os.devnull}
    done = run_hook(project, without_uv(tmp_path / "bin"), **alone)
    assert done.report["summary"].startswith("the packages could not be downloaded: ")
    assert done.code == 0
    again = 'To test: python3 -m venv .venv && .venv/bin/python -m pip install -U "pip>=25.1" && '
    assert again in done.output
