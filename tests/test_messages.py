"""What Copier says at the end: the outcome of the tests, and what to type next."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from copier import run_copy, run_update

from repositories import commit, generate, git, release, start_repository
from sources import copy_sources

STAND_IN = """\
import json, pathlib, sys
folder = pathlib.Path(".agentkit")
folder.mkdir(exist_ok=True)
(folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
report = pathlib.Path(__file__).with_name("report.txt")
if report.exists():
    (folder / "post_gen.yml").write_text(report.read_text())
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """The template with a hook that only records how it was called and what it was told to say."""
    folder = tmp_path / "template"
    copy_sources(folder, whole=False)
    shutil.rmtree(folder / "hooks")
    (folder / "hooks").mkdir()
    (folder / "hooks" / "post_gen.py").write_text(STAND_IN, encoding="utf-8")
    return folder


def report(template: Path, text: str) -> None:
    (template / "hooks" / "report.txt").write_text(text, encoding="utf-8")


def copy(template: Path, project: Path, **options: object) -> None:
    run_copy(str(template), project, defaults=True, unsafe=True, **options)  # type: ignore[arg-type]


def arguments(project: Path) -> list[str]:
    found = json.loads((project / ".agentkit/arguments.json").read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def last_lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that Copier printed at the end, without indentation."""
    return [line.strip() for line in capfd.readouterr().err.splitlines() if line.strip()]


def test_the_hook_is_told_what_it_needs(stand_in: Path, tmp_path: Path) -> None:
    """Operation, folder of the code, whose packaging, package manager and the project's name."""
    copy(stand_in, tmp_path / "my-agent", quiet=True)
    assert arguments(tmp_path / "my-agent") == ["copy", "src/my_agent", "own", "uv", "my-agent"]


def test_the_hook_is_told_about_a_foreign_project(stand_in: Path, tmp_path: Path) -> None:
    """The same five arguments for a project that brings its packaging."""
    project = tmp_path / "shop"
    (project / "shop").mkdir(parents=True)
    for name in ("pyproject.toml", "poetry.lock", "shop/__init__.py"):
        (project / name).touch()
    copy(stand_in, project, quiet=True)
    assert arguments(project) == ["copy", "shop", "foreign", "poetry", "shop"]


def test_an_update_runs_the_hook_once_and_last(stand_in: Path, tmp_path: Path) -> None:
    """The hook sees the merged project, as the arguments it leaves behind show."""
    start_repository(stand_in)
    git(stand_in, "tag", "v1.0.0")
    project = generate(stand_in, tmp_path / "my-agent", "v1.0.0")
    (stand_in / "template" / "new.txt").write_text("new\n", encoding="utf-8")
    release(stand_in, "v2.0.0")
    run_update(project, defaults=True, overwrite=True, quiet=True, unsafe=True)
    assert arguments(project) == ["update", "src/my_agent", "own", "uv", "my-agent"]
    (project / ".agentkit/arguments.json").unlink()
    commit(project)
    run_update(project, defaults=True, overwrite=True, quiet=True, unsafe=True, skip_tasks=True)
    assert not (project / ".agentkit/arguments.json").exists()


def test_the_outcome_and_the_next_commands_come_last(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """After a green run: the summary, the offline question, then the first commit."""
    report(stand_in, '{"status": "passed", "summary": "12 passed in 1s", "lines": []}')
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    assert "12 passed in 1s" in lines
    assert lines[-2].endswith('my-agent ask "hello" --model chat://offline/echo')
    assert lines[-1].startswith("git init && git add -A && git commit")


@pytest.mark.parametrize("status", ["failed", "skipped", "conflicts"])
def test_a_run_that_did_not_pass_is_said_aloud(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], status: str
) -> None:
    """The status and its summary are shown, and where the whole output is."""
    report(stand_in, json.dumps({"status": status, "summary": "the reason", "lines": []}))
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    assert f"TESTS: {status} - the reason" in lines
    assert "Nothing was removed. Full output: .agentkit/post_gen.log" in lines


@pytest.mark.parametrize(
    "text", [None, "", "[]", "null", "{}", "just text", '{"status": "failed"}']
)
def test_a_missing_or_broken_report_does_not_break_the_message(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | None
) -> None:
    """Whatever the report holds, the user learns that the tests have no good result."""
    if text is not None:
        report(stand_in, text)
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    assert any(line.startswith("TESTS: ") for line in lines)
    assert lines[-1].startswith("git init")


def test_without_tasks_the_message_has_the_command_for_the_tests(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With -T nothing ran, also where an old report lies about."""
    project = tmp_path / "my-agent"
    (project / ".agentkit").mkdir(parents=True)
    (project / ".agentkit/post_gen.yml").write_text('{"status": "passed"}', encoding="utf-8")
    copy(stand_in, project, skip_tasks=True)
    lines = last_lines(capfd)
    command = lines[lines.index("The tests were not run. This runs them:") + 1]
    assert command.endswith("python -m pytest")


def test_without_uv_the_commands_use_the_virtual_environment(
    stand_in: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is printed can be typed: uv is only named where it is installed."""
    git_only = tmp_path / "bin"
    git_only.mkdir()
    (git_only / "git").symlink_to(shutil.which("git") or "")
    monkeypatch.setenv("PATH", str(git_only))
    copy(stand_in, tmp_path / "my-agent", skip_tasks=True)
    lines = last_lines(capfd)
    assert lines[-2].startswith(".venv/bin/my-agent ask")
    assert not [line for line in lines if line.startswith("uv ")]


def test_pretending_says_that_nothing_was_written(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """--pretend runs nothing, writes nothing and claims nothing."""
    copy(stand_in, tmp_path / "my-agent", pretend=True)
    assert last_lines(capfd)[-1] == "Nothing was written, because of --pretend."
    assert not (tmp_path / "my-agent").exists()


@pytest.mark.parametrize(
    ("lock", "add", "run"),
    [
        ("uv.lock", "uv add -r", "uv run python"),
        ("poetry.lock", "poetry add $(", "poetry run python"),
        ("pdm.lock", "pdm add $(", "pdm run python"),
        ("requirements.txt", "python -m pip install -r", "python"),
    ],
)
def test_an_existing_project_is_told_how_to_go_on(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], lock: str, add: str, run: str
) -> None:
    """The commands are those of the project's package manager and of its package."""
    project = tmp_path / "project"
    (project / "src" / "shop").mkdir(parents=True)
    for name in ("pyproject.toml", lock, "src/shop/__init__.py"):
        (project / name).touch()
    start_repository(project)
    copy(stand_in, project, skip_tasks=True)
    lines = last_lines(capfd)
    assert lines[-3].startswith(add)
    assert lines[-2] == f'{run} -m shop.agentkit ask "hello" --model chat://offline/echo'
    assert lines[-1].startswith("git add -A && git commit")
    assert f"{run} -m pytest src/shop/agentkit" in lines


def test_the_message_after_an_update_is_about_the_changes(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An update ends with how to look at it and how to commit it."""
    report(stand_in, '{"status": "conflicts", "summary": "1 to solve: a.py", "lines": []}')
    start_repository(stand_in)
    git(stand_in, "tag", "v1.0.0")
    project = generate(stand_in, tmp_path / "my-agent", "v1.0.0")
    (stand_in / "template" / "new.txt").write_text("new\n", encoding="utf-8")
    release(stand_in, "v2.0.0")
    run_update(project, defaults=True, overwrite=True, unsafe=True)
    lines = last_lines(capfd)
    assert "TESTS: conflicts - 1 to solve: a.py" in lines
    assert lines[-2:] == ["git diff HEAD", 'git add -A && git commit -m "Update from the template"']
