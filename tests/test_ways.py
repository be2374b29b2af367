"""Ways to a copy and to an update: each works, or ends with one line that says what to do."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from repositories import changes, commit, git, new_template, release, start_repository
from sources import ROOT

Copier = Callable[..., tuple[int, str]]
# Copier warns of shallow clones; here they are meant.
pytestmark = pytest.mark.filterwarnings("ignore")
FOLDER = "project"
TRUST = "If you trust this template, consider adding the `--trust` option"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A template with one release, in the folder that commands are started from."""
    return new_template(tmp_path / "template", "v1.0.0")


@pytest.fixture
def copier(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Copier:
    """Run Copier's command in a folder; return its exit status and the last line that it prints.

    In this process: starting one takes longer than all else. There is no terminal either way.
    """

    def run(folder: Path, *arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("AGENTKIT_SKIP_TESTS", "1")
        monkeypatch.setattr(sys, "argv", ["copier", *arguments])
        with pytest.raises(SystemExit) as end:
            runpy.run_module("copier", run_name="__main__")
        output = "\n".join(capfd.readouterr())
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return int(end.value.code or 0), lines[-1] if lines else ""

    return run


def as_url(repository: Path) -> str:
    return f"git+{repository.as_uri()}"


def as_folder(repository: Path) -> str:
    return str(repository)


def as_relative_path(repository: Path) -> str:
    return "./template"


def as_bundle(repository: Path) -> str:
    bundle = repository.parent / "template.bundle"
    git(repository, "bundle", "create", "--quiet", str(bundle), "--all")
    return str(bundle)


def as_bare_repository(repository: Path) -> str:
    git(repository.parent, "clone", "--quiet", "--bare", str(repository), "template.git")
    return "template.git"


def as_shallow_clone(repository: Path) -> str:
    arguments = ["clone", "--quiet", "--depth=1", repository.as_uri(), "shallow"]
    git(repository.parent, *arguments)
    return str(repository.parent / "shallow")


def untagged(repository: Path) -> str:
    git(repository, "tag", "-d", "v1.0.0")
    return str(repository)


WAYS = [as_url, as_folder, as_relative_path, as_bundle, as_bare_repository]
WAYS += [as_shallow_clone, untagged]


def bring_news(repository: Path, way: Callable[[Path], str]) -> None:
    """Release a second version, where the way of the test finds it."""
    (repository / "template" / "news.txt").write_text("news\n", encoding="utf-8")
    release(repository, "v2.0.0")
    if way is untagged:
        git(repository, "tag", "-d", "v2.0.0")
    elif way is as_bundle:
        as_bundle(repository)
    elif way is as_bare_repository:
        git(repository.parent / "template.git", "fetch", "--quiet", "--tags", "origin")
    elif way is as_shallow_clone:
        git(repository.parent / "shallow", "pull", "--quiet", "--tags")


@pytest.mark.parametrize("way", WAYS)
def test_every_source_can_be_copied_and_updated_from(
    copier: Copier, repository: Path, tmp_path: Path, way: Callable[[Path], str]
) -> None:
    """The address in the answers file is found again from inside the project."""
    source = way(repository)
    assert copier(tmp_path, "copy", "-T", "--defaults", source, FOLDER)[0] == 0
    start_repository(tmp_path / FOLDER)
    bring_news(repository, way)
    code, line = copier(tmp_path / FOLDER, "update", "-T", "--trust", "--defaults")
    assert code == 0, line
    assert (tmp_path / FOLDER / "news.txt").exists()


def test_a_folder_without_git_can_be_copied_and_says_that_it_has_no_updates(
    copier: Copier, sample_template: Path, tmp_path: Path
) -> None:
    """A download without its history is enough to start from."""
    assert copier(tmp_path, "copy", "-T", "--defaults", str(sample_template), FOLDER)[0] == 0
    start_repository(tmp_path / FOLDER)
    code, line = copier(tmp_path / FOLDER, "update", "--trust", "--defaults")
    assert code == 1
    assert line.startswith("Cannot update because cannot obtain old template references")


@pytest.mark.parametrize("options", [["--defaults"], ["--defaults", "--pretend"]])
def test_without_trust_nothing_is_written(
    copier: Copier, repository: Path, tmp_path: Path, options: list[str]
) -> None:
    """Copier says what to add, and ends with 4."""
    code, line = copier(tmp_path, "copy", *options, str(repository), FOLDER)
    assert code == 4
    assert TRUST in line
    assert not (tmp_path / FOLDER).exists()


def test_pretending_works_with_either_option(
    copier: Copier, repository: Path, tmp_path: Path
) -> None:
    """With --trust, or with -T, it ends by saying that nothing was written."""
    for option in ("--trust", "-T"):
        code, line = copier(
            tmp_path, "copy", option, "--defaults", "--pretend", str(repository), FOLDER
        )
        assert (code, line) == (0, "Nothing was written, because of --pretend.")
    assert not (tmp_path / FOLDER).exists()


@pytest.fixture
def project(copier: Copier, repository: Path, tmp_path: Path) -> Path:
    """A project of the release, committed."""
    copier(tmp_path, "copy", "-T", "--defaults", str(repository), FOLDER)
    start_repository(tmp_path / FOLDER)
    return tmp_path / FOLDER


def test_an_update_asks_for_trust_also_without_tasks(copier: Copier, project: Path) -> None:
    """Copier looks at the older release's tasks as well."""
    code, line = copier(project, "update", "-T", "--defaults")
    assert code == 4
    assert TRUST in line
    assert changes(project) == []


@pytest.mark.parametrize("option", ["-T", "--trust"])
def test_a_recopy_brings_back_what_is_the_templates(
    copier: Copier, project: Path, option: str
) -> None:
    """Edits in agentkit are written over, the user's files stay, and the project works on."""
    errors = project / "src/project/agentkit/errors.py"
    before = errors.read_bytes()
    errors.write_text("BROKEN\n", encoding="utf-8")
    (project / "README.md").write_text("mine\n", encoding="utf-8")
    assert copier(project, "recopy", option, "--defaults", "--overwrite")[0] == 0
    assert errors.read_bytes() == before
    assert (project / "README.md").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("the template", "Updating is only supported in git-tracked templates"),
        ("the answers file", "Cannot update because cannot obtain old template references"),
        ("git's history", "Updating is only supported in git-tracked subprojects"),
    ],
)
def test_what_cannot_be_updated_says_why(
    copier: Copier, project: Path, repository: Path, missing: str, reason: str
) -> None:
    """One line of Copier's, and nothing changes."""
    if missing == "the template":
        repository.rename(repository.with_name("gone"))
    elif missing == "the answers file":
        (project / ".copier-answers.yml").unlink()
        commit(project)
    else:
        (project / ".git").rename(project.parent / "elsewhere")
    code, line = copier(project, "update", "--trust", "--defaults")
    assert code != 0
    assert line.startswith(reason)


def test_a_shallow_clone_of_the_project_can_be_updated(
    copier: Copier, project: Path, repository: Path, tmp_path: Path
) -> None:
    """CI clones like that."""
    git(tmp_path, "clone", "--quiet", "--depth=1", project.as_uri(), "shallow")
    bring_news(repository, as_folder)
    assert copier(tmp_path / "shallow", "update", "-T", "--trust", "--defaults")[0] == 0
    assert (tmp_path / "shallow" / "news.txt").exists()


def test_the_page_names_every_way() -> None:
    """Its table says what works and what to do instead."""
    text = (ROOT / "docs" / "updates.md").read_text(encoding="utf-8")
    for word in ("relative path", "bundle", "shallow clone", "--pretend", "recopy", "untagged"):
        assert word in text
