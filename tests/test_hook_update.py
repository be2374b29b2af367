"""After an update the user reads what happened to each file, and no edit is lost in silence."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hook_project import (
    GREEN,
    HOOKS,
    commit_all,
    ended,
    environment,
    fake_uv,
    git,
    hook_command,
    make_project,
    run_hook,
    write,
)

COPIER_YML = """\
modules: {type: str, multiselect: true, choices: [mcp, brave], default: [mcp]}
_subdirectory: template
_exclude:
  - |
    {% for name in ["mcp", "brave"] if name not in modules %}
    **/agentkit/{{ name }}.py
    {% endfor %}
code_root: {type: str, default: src/demo}
_tasks:
  - command: &hook
      - "{{ _copier_python }}"
      - -B
      - "{{ _copier_conf.src_path }}/hooks/post_gen.py"
      - "{{ _copier_operation }}"
      - "{{ code_root }}"
      - own
      - uv
      - demo
    when: "{{ _copier_operation == 'copy' }}"
_migrations:
  - command: *hook
    when: "{{ _stage == 'after' }}"
"""
LINES = "\n".join(f"line{number} = {number}" for number in range(9)) + "\n"
KIT = "template/{{ code_root }}/agentkit"


@dataclass(frozen=True)
class Place:
    """A template repository, a project made from it, and a PATH with a fake uv."""

    template: Path
    project: Path
    path: str

    def copier(self, command: str, *arguments: str) -> str:
        """Run Copier as a user would and return what it and the hook print to stdout."""
        done = subprocess.run(
            [sys.executable, "-m", "copier", command, "--trust", "--defaults", *arguments],
            cwd=self.project if command == "update" else self.template.parent,
            env=environment(self.path),
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def release(self, version: str) -> None:
        """Commit and tag the template."""
        commit_all(self.template)
        git(self.template, "tag", version)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A project of version 1, committed; the template has core, gone, mcp and brave."""
    template = tmp_path / "template"
    write(template / "copier.yml", COPIER_YML)
    write(
        template / "template" / "{{ _copier_conf.answers_file }}.jinja",
        "{{ _copier_answers|to_nice_yaml }}",
    )
    for name in ("core", "gone", "mcp", "brave"):
        write(template / KIT / f"{name}.py", LINES)
    shutil.copytree(HOOKS, template / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    tools = fake_uv(tmp_path / "bin")
    found = shutil.which("git")
    assert found is not None
    made = Place(template, tmp_path / "project", f"{tools}:{Path(found).parent}:/usr/bin:/bin")
    made.release("v1.0.0")
    made.copier("copy", str(template), str(made.project))
    commit_all(made.project)
    return made


def change_template(place: Place, *names: str) -> None:
    """Change the last line of files in the template and release version 2."""
    for name in names:
        write(place.template / KIT / name, LINES.replace("line8 = 8", "line8 = 'new'"))
    place.release("v2.0.0")


def edit(place: Place, name: str, line: int = 0) -> None:
    """Change one line of a file in the project and commit."""
    text = LINES.replace(f"line{line} = {line}", f"line{line} = 'mine'")
    write(place.project / "src/demo/agentkit" / name, text)
    commit_all(place.project)


def section(output: str, title: str) -> list[str]:
    """Return the indented lines below a title."""
    lines = output.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith(title)), len(lines)) + 1
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("    ")), len(lines))
    return [line.strip() for line in lines[start:end]]


def test_an_update_runs_the_hook_once_and_shows_how_to_undo_it_first(place: Place) -> None:
    """The two throw-away copies of an update stay silent; the first line is the way back."""
    change_template(place, "core.py")
    output = place.copier("update")
    assert output.startswith("To undo this update: git reset -q -- . && git checkout -q -- . && ")
    assert output.count("To undo this update") == 1
    assert output.count("Tested: 12 passed") == 1
    assert "\n  git diff HEAD\nThen commit everything, lock files included: " in output
    assert output.endswith('\n  git add .\n  git commit -m "Update agentkit"\n')


def test_the_undo_line_undoes(place: Place) -> None:
    """Typed as printed, also after a conflict, it brings the last commit back."""
    edit(place, "core.py", line=8)
    write(place.template / KIT / "fresh.py", LINES)
    change_template(place, "core.py")
    line = place.copier("update").splitlines()[0].removeprefix("To undo this update: ")
    subprocess.run(line, shell=True, cwd=place.project, check=True)
    assert git(place.project, "status", "--porcelain") == ""


def test_changes_and_merges_are_listed(place: Place) -> None:
    """Files that took the new text, and files that also kept the user's, are told apart."""
    edit(place, "core.py")
    change_template(place, "core.py", "mcp.py")
    output = place.copier("update")
    assert section(output, "Changed by the update:") == ["src/demo/agentkit/mcp.py"]
    assert section(output, "Merged with your edits:") == ["src/demo/agentkit/core.py"]


def test_conflicts_are_listed_and_nothing_is_tested(place: Place) -> None:
    """A tree with conflict markers needs the user first; the command for later is shown."""
    edit(place, "core.py", line=8)
    change_template(place, "core.py")
    output = place.copier("update")
    assert "\nCONFLICTS, solve these first: src/demo/agentkit/core.py\n" in output
    assert "\nThen git add them and run the tests: uv run python -m pytest\n" in output
    assert "Installing" not in output
    assert ended(place.project, 0, "").report["status"] == "conflicts"


def test_rejected_hunks_are_conflicts(place: Place) -> None:
    """`--conflict rej` leaves the user's text in a file of its own."""
    edit(place, "core.py", line=8)
    change_template(place, "core.py")
    output = place.copier("update", "--conflict", "rej")
    assert "CONFLICTS, solve these first: src/demo/agentkit/core.py.rej\n" in output


def test_changes_to_files_that_the_user_removed_are_listed(place: Place) -> None:
    """Copier skips a renamed file; a module that was never chosen is not missed."""
    (place.project / "src/demo/agentkit/gone.py").unlink()
    commit_all(place.project)
    change_template(place, "gone.py", "brave.py")
    output = place.copier("update")
    assert section(output, "CHANGED in the template, but") == ["src/demo/agentkit/gone.py"]
    assert "    src/demo/agentkit/gone.py" in ended(place.project, 0, "").report["lines"]


def test_an_edited_module_that_is_switched_off_is_listed(place: Place) -> None:
    """The update deletes it; the command that is shown brings the user's text back."""
    edit(place, "mcp.py")
    change_template(place, "core.py")
    output = place.copier("update", "--data", "modules=[]")
    removed = section(output, "REMOVED although you had edited it")
    assert removed[0] == "src/demo/agentkit/mcp.py"
    shown = git(place.project, *removed[1].removeprefix("your version: git ").split())
    assert "line0 = 'mine'" in shown


def test_an_unedited_module_that_is_switched_off_is_not_lost(place: Place) -> None:
    """Nothing of the user's was in it, so it is listed as taken away and no more."""
    change_template(place, "mcp.py")
    output = place.copier("update", "--data", "modules=[]")
    assert section(output, "Taken away, not edited by you") == ["src/demo/agentkit/mcp.py"]
    assert "REMOVED" not in output
    assert "CHANGED in the template" not in output


def test_an_edited_file_that_the_template_dropped_is_listed(place: Place) -> None:
    """A rename in the template loses the user's edits too."""
    edit(place, "gone.py")
    (place.template / KIT / "gone.py").rename(place.template / KIT / "moved.py")
    change_template(place, "core.py")
    removed = section(place.copier("update"), "REMOVED although you had edited it")
    assert removed[0] == "src/demo/agentkit/gone.py"


def test_an_update_of_a_folder_inside_a_repository_is_described(place: Place) -> None:
    """In a monorepo all paths are those of the project, not of the repository."""
    shutil.rmtree(place.project / ".git")
    outer = place.project.parent / "outer"
    moved = Place(place.template, outer / "apps" / "demo", place.path)
    moved.project.parent.mkdir(parents=True)
    place.project.rename(moved.project)
    commit_all(outer)
    edit(moved, "core.py")
    change_template(moved, "core.py")
    output = moved.copier("update")
    assert section(output, "Merged with your edits:") == ["src/demo/agentkit/core.py"]


def test_a_template_version_that_is_unknown_is_said(tmp_path: Path) -> None:
    """Where the versions cannot be compared, the user is told to compare."""
    project = make_project(tmp_path / "project")
    tools = fake_uv(tmp_path / "bin", results=GREEN)
    command = hook_command("update")
    done = run_hook(project, tools, command, VERSION_FROM="v0", VERSION_TO="v1")
    assert "The old version of the template cannot be read, so compare" in done.output
    assert done.report["status"] == "passed"
