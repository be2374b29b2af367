"""The user's files are written once: nothing overwrites them or brings them back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from copier import run_recopy

from conftest import Render
from repositories import contents, generate, new_template
from sources import USERS_FILES, in_project

Change = Callable[[Path], dict[str, bytes]]
USERS = [in_project(name, "src/my_agent") for name in USERS_FILES]


def edit_all(project: Path) -> dict[str, bytes]:
    for name in USERS:
        (project / name).write_text(f"# my own {name}\n", encoding="utf-8")
    return contents(project)


def delete_all(project: Path) -> dict[str, bytes]:
    for name in USERS:
        (project / name).unlink()
    return contents(project)


@pytest.mark.parametrize("change", [edit_all, delete_all])
def test_copying_again_leaves_the_users_files_alone(render: Render, change: Change) -> None:
    """`copier copy --overwrite` into a project rewrites only what is the template's."""
    project = render()
    before = change(project)
    render(overwrite=True)
    assert contents(project) == before


@pytest.mark.parametrize("change", [edit_all, delete_all])
def test_recopying_leaves_the_users_files_alone(tmp_path: Path, change: Change) -> None:
    """`copier recopy --overwrite` does the same."""
    repository = new_template(tmp_path / "template", "v1.0.0")
    project = generate(repository, tmp_path / "my-agent", "v1.0.0")
    before = change(project)
    run_recopy(project, defaults=True, overwrite=True, quiet=True, skip_tasks=True)
    assert contents(project) == before


def test_copying_again_restores_what_is_the_templates(render: Render) -> None:
    """An edit in agentkit is overwritten when the user asks for it with `--overwrite`."""
    project = render()
    path = project / "src/my_agent/agentkit/errors.py"
    before = path.read_bytes()
    path.write_text("BROKEN\n", encoding="utf-8")
    render(overwrite=True)
    assert path.read_bytes() == before


def test_copying_again_keeps_the_answers(render: Render) -> None:
    """What was detected for an empty folder is not detected again in the finished project."""
    project = render(project_name="other-name", ci="none")
    before = (project / ".copier-answers.yml").read_bytes()
    render(overwrite=True)
    assert (project / ".copier-answers.yml").read_bytes() == before


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md", ".gitignore", ".gitattributes"])
def test_the_first_copy_leaves_existing_files_alone(
    render: Render, tmp_path: Path, name: str
) -> None:
    """A folder that already holds a README or a .gitignore keeps it, also with --overwrite."""
    (tmp_path / "my-agent").mkdir()
    (tmp_path / "my-agent" / name).write_text("mine\n", encoding="utf-8")
    project = render(overwrite=True)
    assert (project / name).read_text(encoding="utf-8") == "mine\n"
    assert (project / "pyproject.toml").exists()


def test_a_package_without_packaging_is_joined(render: Render, tmp_path: Path) -> None:
    """Without packaging the project is new, but code that is there is kept and gets agentkit."""
    shop = tmp_path / "my-agent" / "shop"
    shop.mkdir(parents=True)
    (shop / "__init__.py").write_text("MINE = True\n", encoding="utf-8")
    project = render(overwrite=True)
    assert (shop / "__init__.py").read_text(encoding="utf-8") == "MINE = True\n"
    assert (shop / "agentkit").is_dir()
    assert (project / "pyproject.toml").exists()


def test_tests_that_are_there_are_left_alone(render: Render, tmp_path: Path) -> None:
    """A folder of tests gets no conftest.py, which would hold for all of them."""
    tests = tmp_path / "my-agent" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_mine.py").write_text("MINE = True\n", encoding="utf-8")
    assert render(overwrite=True) == tests.parent
    assert [path.name for path in tests.iterdir()] == ["test_mine.py"]


@pytest.mark.parametrize("name", ["main.py", "__main__.py", "tools.py"])
def test_a_package_with_a_main_of_its_own_is_left_alone(
    render: Render, tmp_path: Path, name: str
) -> None:
    """Its files could not work with the generated ones, so the agent gets another folder."""
    shop = tmp_path / "my-agent" / "shop"
    shop.mkdir(parents=True)
    for file in ("__init__.py", name):
        (shop / file).write_text("MINE = True\n", encoding="utf-8")
    project = render(overwrite=True)
    assert not (shop / "agentkit").exists()
    assert (project / "src/my_agent/agentkit").is_dir()
    (project / ".copier-answers.yml").unlink()
    (project / "pyproject.toml").unlink()
    with pytest.raises(ValueError, match="choose another folder"):
        render(code_root="shop")
