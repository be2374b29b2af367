"""`copier update`: from every release, and from a first state to a changed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from repositories import changes, commit, contents, copy, generate, git, new_template, update
from repositories import release as tag_release
from sources import ROOT, USERS_FILES, copy_sources, in_project
from updates.releases import find_releases

AGENTKIT = "template/{{ code_root }}/agentkit"
NEW, OLD = "v999.0.0", "v998.0.0"
KIT = "src/my_agent/agentkit"
NOTES = f"{KIT}/notes.py"
USERS = {in_project(name, "src/my_agent") for name in USERS_FILES}


def earlier_states() -> list[str]:
    """Every release, and the last commit."""
    return [*(release.commit for release in find_releases(ROOT)), "HEAD"]


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A template with two releases: the working tree, and one that changed something everywhere."""
    repository = tmp_path_factory.mktemp("releases") / "template"
    repository.mkdir()
    copy_sources(repository, whole=False)
    kit = repository / AGENTKIT
    lines = "".join(f"NOTE_{number} = {number}\n" for number in range(20))
    (kit / "notes.py").write_text(lines, encoding="utf-8")
    (kit / "gone.py").write_text("GONE = True\n", encoding="utf-8")
    git(repository, "init", "--quiet")
    tag_release(repository, OLD)
    (kit / "notes.py").write_text(lines.replace("= 1\n", "= 'one'\n"), encoding="utf-8")
    (kit / "gone.py").unlink()
    (kit / "added.py").write_text("ADDED = True\n", encoding="utf-8")
    change_users_files(repository)
    replace(repository / "template/pyproject.toml.jinja", '"pyyaml>=6.0.2,<7"', '"pyyaml>=6.1,<7"')
    replace(repository / "reserved.txt", "json", "json taken_later")
    tag_release(repository, NEW)
    return repository


@pytest.fixture
def project(releases: Path, tmp_path: Path) -> Path:
    """A project of the older release."""
    return generate(releases, tmp_path / "my-agent", OLD)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def change_users_files(repository: Path) -> None:
    for name in USERS_FILES:
        plain = repository / "template" / name
        path = plain if plain.exists() else plain.with_name(f"{plain.name}.jinja")
        path.write_text(
            path.read_text(encoding="utf-8") + "\n# new in the template\n", encoding="utf-8"
        )


@pytest.mark.parametrize("answers", [{}, {"ci": "none"}, {"brings_packaging": True}], ids=str)
def test_an_untouched_project_becomes_like_a_fresh_one(
    releases: Path, tmp_path: Path, answers: dict[str, object]
) -> None:
    """Everything that belongs to the template is equal afterwards, new and dropped files too."""
    project = generate(releases, tmp_path / "old" / "my-agent", OLD, **answers)
    fresh = tmp_path / "fresh" / "my-agent"
    copy(releases, fresh, NEW, **answers)
    update(project)
    mine, theirs = contents(project), contents(fresh)
    assert {n: b for n, b in mine.items() if n not in USERS} == {
        n: b for n, b in theirs.items() if n not in USERS
    }
    assert mine[f"{KIT}/added.py"]
    assert f"{KIT}/gone.py" not in mine


@pytest.mark.parametrize("ref", earlier_states())
def test_every_release_can_be_updated_to_the_working_tree(tmp_path: Path, ref: str) -> None:
    """A project of any release becomes like a fresh one, apart from the user's files."""
    repository = tmp_path / "template"
    git(tmp_path, "clone", "--quiet", str(ROOT), str(repository))
    project = generate(repository, tmp_path / "old" / "my-agent", ref)
    git(repository, "rm", "--quiet", "-r", ".")
    copy_sources(repository)
    tag_release(repository, NEW)
    copy(repository, tmp_path / "fresh" / "my-agent", NEW)
    update(project)
    fresh = contents(tmp_path / "fresh" / "my-agent")
    found = contents(project)
    assert {n: b for n, b in found.items() if n not in USERS} == {
        n: b for n, b in fresh.items() if n not in USERS
    }


def test_the_users_files_are_not_touched(project: Path) -> None:
    """What is written once stays as it is, whether the user edited it or not."""
    (project / "src/my_agent/main.py").write_text("MINE = True\n", encoding="utf-8")
    commit(project)
    before = contents(project)
    update(project)
    after = contents(project)
    assert {name: after[name] for name in USERS} == {name: before[name] for name in USERS}


def test_a_file_that_the_user_deleted_stays_deleted(project: Path) -> None:
    """Neither a file of the user's nor one of agentkit's comes back."""
    deleted = ["README.md", "src/my_agent/tools.py", ".github/workflows/agent.yml", NOTES]
    for name in deleted:
        (project / name).unlink()
    commit(project)
    update(project)
    assert not [name for name in deleted if (project / name).exists()]


def test_a_name_that_became_reserved_later_can_be_updated(releases: Path, tmp_path: Path) -> None:
    """The second release reserves `taken_later`, which is refused for new projects only."""
    project = generate(releases, tmp_path / "project", OLD, project_name="taken-later")
    update(project)
    assert f"_commit: {NEW}" in (project / ".copier-answers.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["{{ 7 * 7 }} {% raw %}", '\U0001f916 "quoted"\nsecond line'])
def test_a_description_survives_an_update(releases: Path, tmp_path: Path, text: str) -> None:
    """Stored answers are data: an update renders the same description again."""
    project = generate(releases, tmp_path / "my-agent", OLD, project_description=text)
    before = (project / "pyproject.toml").read_text(encoding="utf-8")
    update(project)
    after = (project / "pyproject.toml").read_text(encoding="utf-8")
    assert after == before.replace('"pyyaml>=6.0.2,<7"', '"pyyaml>=6.1,<7"')


def test_a_project_in_a_subfolder_of_a_repository_is_updated(
    releases: Path, tmp_path: Path
) -> None:
    """In a monorepo only the project's own folder changes."""
    root = tmp_path / "monorepo"
    project = root / "packages" / "my-agent"
    copy(releases, project, OLD)
    (root / "other.txt").write_text("other\n", encoding="utf-8")
    git(root, "init", "--quiet")
    commit(root)
    (root / "other.txt").write_text("not committed\n", encoding="utf-8")
    update(project)
    assert "ADDED" in (project / KIT / "added.py").read_text(encoding="utf-8")
    outside = [line for line in changes(root) if "packages/my-agent/" not in line]
    assert outside == [" M other.txt"]


def test_an_update_of_an_existing_project_only_changes_agentkit(
    releases: Path, tmp_path: Path
) -> None:
    """Where the project brought its packaging, nothing outside agentkit is written."""
    project = tmp_path / "shop"
    (project / "shop").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "shop/__init__.py", "shop/main.py"):
        (project / name).write_text("# mine\n", encoding="utf-8")
    generate(releases, project, OLD)
    update(project)
    changed = {line[3:] for line in changes(project)}
    assert changed == {
        ".copier-answers.yml",
        *(f"shop/agentkit/{name}.py" for name in ("added", "gone", "notes")),
    }


def test_a_dirty_project_is_refused(project: Path) -> None:
    """Nothing changes while edits are not committed: an update could not be taken back."""
    (project / "README.md").write_text("edited\n", encoding="utf-8")
    before = contents(project)
    with pytest.raises(Exception, match="dirty"):
        update(project)
    assert contents(project) == before


def test_the_working_tree_can_be_a_release(tmp_path: Path) -> None:
    """A project of the working tree that is updated to the same state does not change."""
    repository = new_template(tmp_path / "template", "v1.0.0")
    project = generate(repository, tmp_path / "my-agent", "v1.0.0")
    update(project)
    assert changes(project) == []
