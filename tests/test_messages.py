"""What Copier says at the end: the outcome of the tests, and what to type next."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from copier import run_copy, run_update

from repositories import commit, generate, git, release, start_repository
from sources import copy_sources

QUESTION = 'ask "hello" --model chat://offline/echo'
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


def reported(status: str, summary: str) -> str:
    """Return the report of a hook that came to its end."""
    return json.dumps({"status": status, "summary": summary, "lines": ["Next:"]})


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


def test_after_a_run_the_message_is_the_outcome_and_one_command(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The hook has printed the rest: the outcome, the log, the offline question, no more."""
    report(stand_in, reported("passed", "12 passed in 1s"))
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    first = lines.index("Tested: 12 passed in 1s")
    assert lines[first + 1 : -1] == [
        "Full output: .agentkit/post_gen.log",
        f"Talk to the agent, in {tmp_path / 'my-agent'}:",
    ]
    assert lines[-1].endswith(f"my-agent {QUESTION}")


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("failed", "TESTS FAILED: the reason"),
        ("skipped", "NOT TESTED: the reason"),
        ("conflicts", "CONFLICTS, the reason"),
    ],
)
def test_a_run_that_did_not_pass_is_said_aloud(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], status: str, line: str
) -> None:
    """The outcome is said in the words of the hook, and where the whole output is."""
    report(stand_in, reported(status, "the reason"))
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    next_line = lines[lines.index(line) + 1]
    assert next_line == "Nothing was removed. Full output: .agentkit/post_gen.log"


@pytest.mark.parametrize(
    "text", [None, "", "[]", "null", "{}", "just text", '{"status": "failed", "lines": []}']
)
def test_a_missing_or_broken_report_does_not_break_the_message(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | None
) -> None:
    """Without a report of the end nobody has printed what to do next, so the message does."""
    if text is not None:
        report(stand_in, text)
    copy(stand_in, tmp_path / "my-agent")
    lines = last_lines(capfd)
    failed = text is not None and "failed" in text
    assert f"{'TESTS FAILED' if failed else 'NOT TESTED'}: there is no report of the run" in lines
    assert lines[-3:] == ["git init", "git add .", 'git commit -m "First commit"']


def test_without_tasks_the_message_has_the_command_for_the_tests(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With -T nothing ran, also where an old report lies about."""
    project = tmp_path / "my-agent"
    (project / ".agentkit").mkdir(parents=True)
    (project / ".agentkit/post_gen.yml").write_text('{"status": "passed"}', encoding="utf-8")
    copy(stand_in, project, skip_tasks=True)
    lines = last_lines(capfd)
    command = lines[lines.index("NOT TESTED: tasks were skipped") + 1]
    assert command.startswith("To test: ")
    assert command.endswith("python -m pytest")


def test_after_a_run_the_commands_are_those_of_the_hook(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It has looked into pyproject.toml for the package manager, which Copier cannot."""
    found = {"status": "passed", "summary": "1 passed", "lines": ["x"], "commands": ["a b", "c"]}
    report(stand_in, json.dumps(found))
    copy(stand_in, tmp_path / "my-agent")
    assert last_lines(capfd)[-2:] == ["a b", "c"]


def test_a_recopy_shows_the_way_back_before_anything_else(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It writes over edits in agentkit, which the first copy cannot."""
    copy(stand_in, tmp_path / "my-agent", skip_tasks=True)
    assert "To undo: " not in capfd.readouterr().err
    copy(stand_in, tmp_path / "my-agent", skip_tasks=True, overwrite=True)
    lines = last_lines(capfd)
    assert lines[0].startswith("To undo: git reset -q ")
    assert lines[1].startswith("Edits in agentkit are written over; commit them first")


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
    assert f".venv/bin/my-agent {QUESTION}" in lines
    assert not [line for line in lines if line.startswith("uv ")]


def test_pretending_says_that_nothing_was_written(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """--pretend runs nothing, writes nothing and claims nothing."""
    copy(stand_in, tmp_path / "my-agent", pretend=True)
    assert last_lines(capfd)[-1] == "Nothing was written, because of --pretend."
    assert not (tmp_path / "my-agent").exists()


def test_the_message_after_an_update_is_the_outcome(
    stand_in: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The hook has said how to go on; nobody needs to be told how to talk to the agent."""
    report(stand_in, reported("conflicts", "solve these first: a.py"))
    start_repository(stand_in)
    git(stand_in, "tag", "v1.0.0")
    project = generate(stand_in, tmp_path / "my-agent", "v1.0.0")
    release(stand_in, "v2.0.0")
    run_update(project, defaults=True, overwrite=True, unsafe=True)
    lines = last_lines(capfd)
    assert lines[-2] == "CONFLICTS, solve these first: a.py"
    assert lines[-1] == "Nothing was removed. Full output: .agentkit/post_gen.log"
