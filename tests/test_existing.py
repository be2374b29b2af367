"""Projects that exist: agentkit is added, and nothing of theirs changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Render
from repositories import changes, commit, contents, start_repository
from test_names import answers_of

Files = dict[str, str]

PYPROJECT = (
    '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\naddopts = "--cov"\n'
)
# What each project consists of, and where its agentkit is expected.
PROJECTS: dict[str, tuple[Files, str]] = {
    "src": ({"pyproject.toml": PYPROJECT, "src/shop/__init__.py": "import flask\n"}, "src/shop"),
    "flat": (
        {"pyproject.toml": PYPROJECT, "shop/__init__.py": "", "tests/__init__.py": ""},
        "shop",
    ),
    "setup.py": ({"setup.py": "import setuptools\n", "shop/__init__.py": "MINE = 1\n"}, "shop"),
    "setup.cfg": ({"setup.cfg": "[metadata]\n", "src/shop/__init__.py": ""}, "src/shop"),
    "requirements": ({"requirements-dev.txt": "flask\n", "app.py": ""}, "src/project"),
    "pipfile": ({"Pipfile": "[packages]\n", "shop/__init__.py": ""}, "shop"),
    "namespace": ({"pyproject.toml": PYPROJECT, "src/project/cart.py": ""}, "src/project"),
    "tests only": ({"pyproject.toml": PYPROJECT, "tests/__init__.py": ""}, "src/project"),
    "one module": ({"pyproject.toml": PYPROJECT, "project.py": "MINE = 1\n"}, "."),
    "agent folder": ({"pyproject.toml": PYPROJECT, "agent/__init__.py": ""}, "agent"),
    "kit beside": (
        {"pyproject.toml": PYPROJECT, "agentkit/__init__.py": "", "shop/__init__.py": ""},
        "shop",
    ),
    "both layouts": (
        {"pyproject.toml": PYPROJECT, "src/shop/__init__.py": "", "app/__init__.py": ""},
        "src/shop",
    ),
    "full": (
        {
            "pyproject.toml": PYPROJECT,
            "src/shop/__init__.py": "",
            "src/shop/__main__.py": "MINE\n",
            "src/shop/main.py": "MINE\n",
            "src/shop/tools.py": "MINE\n",
            "README.md": "mine\n",
            "AGENTS.md": "mine\n",
            ".gitignore": "mine\n",
            ".gitattributes": "* -text\n",
            ".env.example": "MINE=\n",
            ".github/workflows/agent.yml": "mine: 1\n",
            "tests/conftest.py": "MINE\n",
        },
        "src/shop",
    ),
}
LOCKS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pip"}


@pytest.fixture
def existing(tmp_path: Path) -> Path:
    """An empty repository; the name of its folder is nobody's package."""
    folder = tmp_path / "project"
    folder.mkdir()
    start_repository(folder)
    return folder


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def assert_only_new(before: dict[str, bytes], folder: Path, code_root: str) -> None:
    """Nothing that was there changed, and what is new lies where it should."""
    after = contents(folder)
    assert {name: after.get(name) for name in before} == before
    ours = ("agentkit/" if code_root == "." else f"{code_root}/agentkit/",)
    new = {name for name in after.keys() - before.keys() if not name.startswith(ours)}
    assert new == {".copier-answers.yml", "agentkit-requirements.txt"}
    assert any(name.startswith(ours) for name in after)


@pytest.mark.parametrize("shape", PROJECTS)
def test_an_existing_project_only_gets_new_files(
    render: Render, existing: Path, shape: str
) -> None:
    """Even with --overwrite, `git status` shows nothing but new files."""
    files, code_root = PROJECTS[shape]
    write(existing, files)
    commit(existing)
    before = contents(existing)
    render("project", overwrite=True)
    assert answers_of(existing)["brings_packaging"] is True
    assert answers_of(existing)["code_root"] == code_root
    assert_only_new(before, existing, code_root)
    assert [line for line in changes(existing) if not line.startswith("?? ")] == []


def test_agentkit_can_lie_beside_the_packages(render: Render, existing: Path) -> None:
    """`code_root` "." makes agentkit a top-level package."""
    write(existing, PROJECTS["flat"][0])
    before = contents(existing)
    render("project", code_root=".")
    assert_only_new(before, existing, ".")


def test_copying_again_changes_nothing(render: Render, existing: Path) -> None:
    """The second copy finds its own answers and repeats them."""
    write(existing, PROJECTS["full"][0])
    render("project")
    before = contents(existing)
    render("project", overwrite=True)
    assert contents(existing) == before


@pytest.mark.parametrize("name", ["__init__.py", "notes.txt", "inner/__init__.py"])
def test_an_agentkit_of_theirs_is_refused(render: Render, existing: Path, name: str) -> None:
    """A folder called agentkit that is not ours is never written into."""
    write(existing, {"pyproject.toml": PYPROJECT, "src/shop/__init__.py": ""})
    write(existing, {f"src/shop/agentkit/{name}": "mine\n"})
    before = contents(existing)
    with pytest.raises(ValueError, match=r"src/shop/agentkit exists already") as refusal:
        render("project", overwrite=True)
    assert "\n" not in str(refusal.value)
    assert contents(existing) == before


@pytest.mark.parametrize("name", ["agentkit", "agentkit.py"])
def test_a_file_named_agentkit_is_refused(render: Render, existing: Path, name: str) -> None:
    """A folder could not be made, or would hide the user's module from their imports."""
    write(existing, {"pyproject.toml": PYPROJECT, "shop/__init__.py": "", f"shop/{name}": "mine"})
    before = contents(existing)
    with pytest.raises(ValueError, match=f"shop/{name} exists already") as refusal:
        render("project", overwrite=True)
    assert "\n" not in str(refusal.value)
    assert contents(existing) == before


def test_a_code_root_that_is_a_file_is_refused(render: Render, existing: Path) -> None:
    """The error says so, in place of a traceback from the middle of the copy."""
    write(existing, {"setup.py": "", "shop": "a file\n"})
    before = contents(existing)
    with pytest.raises(ValueError, match="shop is a file"):
        render("project", code_root="shop")
    assert contents(existing) == before


def test_windows_line_ends_stay(render: Render, existing: Path) -> None:
    """A checkout with CRLF keeps its bytes, and agentkit comes with LF."""
    write(existing, {"pyproject.toml": PYPROJECT.replace("\n", "\r\n"), "README.md": "a\r\nb\r\n"})
    before = contents(existing)
    render("project", overwrite=True)
    assert_only_new(before, existing, "src/project")
    kit = existing / "src/project/agentkit"
    assert not [path for path in kit.rglob("*.py") if b"\r" in path.read_bytes()]


def test_a_dirty_tree_keeps_its_edits(render: Render, existing: Path) -> None:
    """Edits that are not committed, and files that git does not know, stay as they are."""
    write(existing, PROJECTS["full"][0])
    commit(existing)
    write(existing, {"README.md": "not committed\n", "scratch.txt": "not added\n"})
    before = contents(existing)
    render("project", overwrite=True)
    assert_only_new(before, existing, "src/shop")


@pytest.mark.parametrize("lock", LOCKS)
def test_the_package_manager_is_found_by_its_lock_file(
    render: Render, existing: Path, lock: str
) -> None:
    """The command that adds the dependencies will be theirs; without a lock file it is pip's."""
    write(existing, {"pyproject.toml": PYPROJECT, lock: ""})
    assert answers_of(render("project"))["package_manager"] == LOCKS[lock]


def test_a_member_of_a_workspace_uses_its_package_manager(render: Render, existing: Path) -> None:
    """In a monorepo the lock file lies above the project; nothing above it changes."""
    write(existing, {"pyproject.toml": PYPROJECT, "uv.lock": "version = 1\n"})
    write(existing, {"packages/shop/pyproject.toml": PYPROJECT})
    write(existing, {"packages/shop/src/shop/__init__.py": ""})
    commit(existing)
    answers = answers_of(render("project/packages/shop"))
    assert (answers["package_manager"], answers["code_root"]) == ("uv", "src/shop")
    assert [line for line in changes(existing) if "packages/shop/" not in line] == []


def test_a_new_project_in_a_monorepo_is_new(render: Render, existing: Path) -> None:
    """Only the project's own folder decides whether it brings its packaging."""
    write(existing, {"pyproject.toml": PYPROJECT, "poetry.lock": ""})
    answers = answers_of(render("project/packages/my-agent"))
    assert (answers["brings_packaging"], answers["package_manager"]) == (False, "uv")


def test_a_folder_name_with_glob_characters_is_looked_into(render: Render, tmp_path: Path) -> None:
    """Brackets in a path are not a pattern: the project in there is found all the same."""
    write(tmp_path / "my [old] shop", PROJECTS["flat"][0])
    answers = answers_of(render("my [old] shop"))
    assert (answers["brings_packaging"], answers["code_root"]) == (True, "shop")


@pytest.mark.parametrize(
    ("init", "code_root"),
    [
        ("src/zope/event/__init__.py", "src/zope/event"),
        ("jaraco/text/__init__.py", "jaraco/text"),
        ("tests/unit/__init__.py", "src/project"),
        ("src/shop/tests/__init__.py", "src/project"),
        ("src/__init__.py", "src"),
    ],
)
def test_a_namespace_package_is_found(
    render: Render, existing: Path, init: str, code_root: str
) -> None:
    """Without an __init__.py of its own, the first package inside it gets agentkit."""
    write(existing, {"pyproject.toml": PYPROJECT, init: ""})
    assert answers_of(render("project"))["code_root"] == code_root
