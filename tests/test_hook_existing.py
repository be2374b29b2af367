"""What the hook reads from an existing project: its package manager and its oldest Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hook_project import HOOKS, hook_command, make_project, run_hook, write

sys.path.insert(0, str(HOOKS))

from existing import find_manager, older_python

SKIP = {"AGENTKIT_SKIP_TESTS": "1"}


@pytest.mark.parametrize(
    ("settings", "manager"),
    [
        ('[tool.poetry]\nname = "shop"\n', "poetry"),
        ("[tool.poetry.dependencies]\npython = '^3.11'\n", "poetry"),
        ("[tool.pdm.dev-dependencies]\ntest = []\n", "pdm"),
        ('[[tool.uv.index]]\nurl = "https://example.org"\n', "uv"),
        ('[build-system]\nbuild-backend = "poetry.core.masonry.api"\n', "poetry"),
        ('[build-system]\nbuild-backend = "pdm.backend"\n', "pdm"),
        ('[build-system]\nbuild-backend = "uv_build"\n', "uv"),
        ('[tool.uv]\n[build-system]\nbuild-backend = "pdm.backend"\n', "uv"),
        ('[build-system]\nbuild-backend = "setuptools.build_meta"\n', None),
        ("# [tool.poetry]\n[tool.poetryish]\n", None),
        ("", None),
    ],
)
def test_the_package_manager_is_found_by_its_settings(
    tmp_path: Path, settings: str, manager: str | None
) -> None:
    """Without a lock file its table in pyproject.toml tells, then the build backend."""
    write(tmp_path / "pyproject.toml", settings)
    assert find_manager(tmp_path) == manager


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pyproject.toml", 'requires-python = ">=3.9"'),
        ("pyproject.toml", 'requires-python = ">=3.8, <3.14"'),
        ("pyproject.toml", 'requires-python = "<4"'),
        ("pyproject.toml", 'requires-python = ">3.10"'),
        ("pyproject.toml", 'requires-python = "~=3.10"'),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.10"'),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "~2.7 || ^3.11"'),
        ("setup.cfg", "[options]\npython_requires = >=3.9"),
        ("setup.py", 'setup(name="shop", python_requires=">=3.7")'),
    ],
)
def test_a_project_that_allows_an_older_python_is_found(
    tmp_path: Path, file: str, text: str
) -> None:
    """The answer names the file and quotes what it says."""
    write(tmp_path / file, text + "\n")
    found = older_python(tmp_path)
    assert found is not None
    assert found.startswith(f"{file}: ")
    assert found.partition(": ")[2] in text


@pytest.mark.parametrize(
    "text",
    [
        'requires-python = ">=3.11"',
        'requires-python = ">=3.9,>=3.12"',
        'requires-python = "==3.13.*"',
        'python = "^3.11"',
        'python = "3.12"',
        'name = "shop"',
    ],
)
def test_a_project_that_is_new_enough_or_says_nothing_is_not_warned(
    tmp_path: Path, text: str
) -> None:
    """Nothing is guessed where nothing is said."""
    write(tmp_path / "pyproject.toml", text + "\n")
    assert older_python(tmp_path) is None


def test_the_message_uses_what_was_found(tmp_path: Path) -> None:
    """The warning comes first, and the commands are those of the manager in pyproject.toml."""
    project = make_project(tmp_path / "project", "src/shop")
    write(project / "pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.9"\n')
    write(project / "agentkit-requirements.txt", "pydantic>=2\n")
    command = hook_command(code_root="src/shop", kind="foreign", manager="pip")
    done = run_hook(project, tmp_path, command, **SKIP)
    warning = "WARNING: agentkit needs Python 3.11 or newer, your project allows older ones "
    assert f"{warning}(pyproject.toml: ^3.9). Raise that first" in done.output
    add = 'poetry add "pydantic>=2"'
    assert f"\n  {add}\n  poetry run python -m shop.agentkit ask" in done.output
    assert done.report["commands"][0] == add
    assert done.code == 0


def test_a_lock_file_counts_more_than_settings(tmp_path: Path) -> None:
    """Whom Copier found by its lock file is not asked again."""
    project = make_project(tmp_path / "project", "src/shop")
    write(project / "pyproject.toml", "[tool.poetry]\n")
    command = hook_command(code_root="src/shop", kind="foreign", manager="uv")
    assert "\n  uv add -r " in run_hook(project, tmp_path, command, **SKIP).output


def test_files_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    """A folder with the name of a file, or text that is no UTF-8, costs the hint only."""
    (tmp_path / "setup.cfg").mkdir()
    (tmp_path / "pyproject.toml").write_bytes(b'requires-python = ">=3.8"\n# \xff\n')
    assert older_python(tmp_path) == "pyproject.toml: >=3.8"
    assert find_manager(tmp_path) is None
