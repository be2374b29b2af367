"""A file of the template gets another name, or is split, and no edit of the user's is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from copier import run_update

from repositories import commit, generate, git, new_template, release, update

KIT = "src/my_agent/agentkit"
SOURCE = "template/{{ code_root }}/agentkit"
LINES = "".join(f"LINE_{number} = {number}\n" for number in range(20))
CHANGED = LINES.replace("LINE_1 = 1\n", "LINE_1 = 'new'\n")
MOVE = {
    "version": "v2.0.0",
    "command": [
        "{{ _copier_python }}",
        "{{ _copier_conf.src_path }}/hooks/move.py",
        "old.py",
        "new.py",
    ],
    "when": "{{ _stage == 'after' }}",
}


@pytest.fixture(autouse=True)
def no_test_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook reports the update and leaves it at that."""
    monkeypatch.setenv("AGENTKIT_SKIP_TESTS", "1")


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A release whose agentkit has a file old.py."""
    repository = new_template(tmp_path / "template", "v0.9.0")
    (repository / SOURCE / "old.py").write_text(LINES, encoding="utf-8")
    release(repository, "v1.0.0")
    return repository


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Path:
    """A project of it."""
    return generate(template, tmp_path / "my-agent", "v1.0.0")


def rename_in(template: Path, new_text: str = LINES) -> None:
    """Release the file under another name, with the migration, as AGENTS.md says."""
    (template / SOURCE / "old.py").unlink()
    (template / SOURCE / "new.py").write_text(new_text, encoding="utf-8")
    path = template / "copier.yml"
    settings = path.read_text(encoding="utf-8")
    entry = yaml.safe_dump([MOVE], width=1000).replace("\n", "\n  ")
    path.write_text(settings.replace("_migrations:\n", f"_migrations:\n  {entry}\n"), "utf-8")
    release(template, "v2.0.0")


def text(project: Path, name: str) -> str:
    return (project / KIT / name).read_text(encoding="utf-8")


def edit(project: Path, name: str, old: str, new: str) -> None:
    (project / KIT / name).write_text(text(project, name).replace(old, new), encoding="utf-8")
    commit(project)


@pytest.mark.parametrize("new_text", [LINES, CHANGED], ids=["same text", "changed text"])
def test_a_renamed_file_takes_the_edits_along(
    template: Path, project: Path, new_text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The user's line is in the file with the new name, without conflict, and the hook says so."""
    edit(project, "old.py", "LINE_9 = 9", "LINE_9 = 'mine'")
    rename_in(template, new_text)
    run_update(project, defaults=True, overwrite=True, quiet=True, unsafe=True)
    assert not (project / KIT / "old.py").exists()
    assert text(project, "new.py") == new_text.replace("LINE_9 = 9", "LINE_9 = 'mine'")
    output = capfd.readouterr().out
    assert f"Moved, with your edits:\n    {KIT}/old.py -> {KIT}/new.py\n" in output
    assert "REMOVED" not in output


def test_later_updates_follow_the_new_name(template: Path, project: Path) -> None:
    """The edit is still there, beside the template's own change."""
    edit(project, "old.py", "LINE_9 = 9", "LINE_9 = 'mine'")
    rename_in(template)
    update(project)
    commit(project)
    (template / SOURCE / "new.py").write_text(CHANGED, encoding="utf-8")
    release(template, "v3.0.0")
    update(project)
    assert text(project, "new.py") == CHANGED.replace("LINE_9 = 9", "LINE_9 = 'mine'")


def test_an_edit_of_a_line_that_changed_with_the_name_is_a_conflict(
    template: Path, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both versions are in the file, and the hook names it."""
    edit(project, "old.py", "LINE_1 = 1\n", "LINE_1 = 'mine'\n")
    rename_in(template, CHANGED)
    run_update(project, defaults=True, overwrite=True, quiet=True, unsafe=True)
    assert text(project, "new.py").count("<<<<<<< before updating") == 1
    assert "LINE_1 = 'mine'\n" in text(project, "new.py")
    assert "LINE_1 = 'new'\n" in text(project, "new.py")
    assert f"CONFLICTS, solve these first: {KIT}/new.py\n" in capfd.readouterr().out


def test_an_untouched_file_is_renamed(template: Path, project: Path) -> None:
    """Nothing is merged where nothing was edited."""
    rename_in(template)
    update(project)
    assert not (project / KIT / "old.py").exists()
    assert text(project, "new.py") == LINES


def test_a_file_of_the_users_with_the_new_name_stays(template: Path, project: Path) -> None:
    """Nothing is merged into it: it is a conflict of its own with the template's."""
    edit(project, "old.py", "LINE_9 = 9", "LINE_9 = 'mine'")
    (project / KIT / "new.py").write_text("MINE = True\n", encoding="utf-8")
    commit(project)
    rename_in(template)
    update(project)
    assert "MINE = True\n" in text(project, "new.py")
    assert f"{KIT}/new.py" in git(project, "diff", "--name-only", "--diff-filter=U")


def test_a_split_file_keeps_the_edits_in_what_stayed(template: Path, project: Path) -> None:
    """What moved is imported from the new file; an edit of it is a conflict, not a loss."""
    edit(project, "old.py", "LINE_2 = 2\n", "LINE_2 = 'mine'\n")
    edit(project, "old.py", "LINE_17 = 17", "LINE_17 = 'mine'")
    head, tail = LINES[: LINES.index("LINE_15")], LINES[LINES.index("LINE_15") :]
    (template / SOURCE / "new.py").write_text(tail, encoding="utf-8")
    (template / SOURCE / "old.py").write_text("from .new import LINE_17\n" + head, encoding="utf-8")
    release(template, "v2.0.0")
    update(project)
    assert "LINE_2 = 'mine'\n" in text(project, "old.py")
    assert "from .new import LINE_17\n" in text(project, "old.py")
    assert "LINE_17 = 'mine'\n" in text(project, "old.py")
    assert "<<<<<<<" in text(project, "old.py")
