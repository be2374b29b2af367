"""The hook in a hostile place: secrets, broken pipes, full disks, odd folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hook_project import (
    PYPROJECT,
    ended,
    environment,
    fake_tool,
    fake_uv,
    hook_command,
    make_project,
    run_hook,
    write,
)

DUMP = "json.dump(dict(os.environ), open({file!r}, 'w')); print('1 passed in 1s')"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def test_tests_see_no_secret_and_nothing_that_leads_elsewhere(
    project: Path, tmp_path: Path
) -> None:
    """Keys, endpoints, other environments and pytest options do not reach the tests."""
    file = tmp_path / "seen.json"
    hidden = {
        **{"OPENAI_API_KEY": "sk-1234567", "OPENAI_BASE_URL": "http://x.example"},
        **{"AWS_SECRET_ACCESS_KEY": "aws-1234567", "GITHUB_TOKEN": "gh-1234567"},
        **{"VIRTUAL_ENV": "/v", "PYTHONOPTIMIZE": "1", "PYTEST_ADDOPTS": "-x"},
        **{"PYTEST_PLUGINS": "none", "UV_PROJECT_ENVIRONMENT": "/v", "UV_FROZEN": "1"},
        **{"UV_INDEX_HOME_PASSWORD": "pw-1234567", "AGENT_MODEL": "chat://a/b", "GIT_DIR": "/g"},
    }
    run_hook(project, fake_uv(tmp_path / "bin", tests=DUMP.format(file=str(file))), **hidden)
    seen = json.loads(file.read_text(encoding="utf-8"))
    assert not hidden.keys() & seen.keys()
    assert seen["PATH"] == str(tmp_path / "bin")


def test_the_installer_keeps_its_own_credentials(project: Path, tmp_path: Path) -> None:
    """A private index needs its password; no other secret is passed on to install packages."""
    file = tmp_path / "seen.json"
    tools = fake_uv(tmp_path / "bin", sync=DUMP.format(file=str(file)))
    run_hook(project, tools, UV_INDEX_HOME_PASSWORD="pw-1234567", OPENAI_API_KEY="sk-1234567")
    seen = json.loads(file.read_text(encoding="utf-8"))
    assert seen["UV_INDEX_HOME_PASSWORD"] == "pw-1234567"
    assert "OPENAI_API_KEY" not in seen


def test_secrets_are_masked_in_everything_that_is_written(project: Path, tmp_path: Path) -> None:
    """An installer that prints a password or a login shows it nowhere."""
    leak = "print('error: https://me:hunter2hunter@host/ pw-1234567'); sys.exit(1)"
    tools = fake_uv(tmp_path / "bin", sync=leak)
    done = run_hook(project, tools, UV_INDEX_HOME_PASSWORD="pw-1234567")
    everything = done.output + done.log + json.dumps(done.report)
    assert "error: https://***@host/ ***" in done.output
    assert "hunter2" not in everything
    assert "pw-1234567" not in everything


def test_the_tests_cannot_read_from_the_terminal(project: Path, tmp_path: Path) -> None:
    """Standard input is closed, so a question can neither stop the copy nor take an answer."""
    tools = fake_uv(tmp_path / "bin", tests="print(repr(sys.stdin.read()), '1 passed in 1s')")
    done = subprocess.run(
        hook_command(),
        cwd=project,
        env=environment(tools),
        input="an answer",
        capture_output=True,
        encoding="utf-8",
    )
    assert "tests        '' 1 passed in 1s" in done.stdout


def test_a_reader_that_is_gone_does_not_fail_the_copy(project: Path, tmp_path: Path) -> None:
    """With stdout closed by `head` the hook goes on, reports and exits with 0."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    tools = fake_uv(tmp_path / "bin")
    done = subprocess.run(hook_command(), cwd=project, env=environment(tools), stdout=write_end)
    os.close(write_end)
    found = ended(project, done.returncode, "")
    assert (found.code, found.report["status"]) == (0, "passed")
    assert "12 passed" in found.log


def test_a_folder_that_cannot_be_written_costs_one_line(project: Path, tmp_path: Path) -> None:
    """Without log and report the tests run all the same."""
    write(project / ".agentkit", "a file")
    done = run_hook(project, fake_uv(tmp_path / "bin"))
    assert done.output.count(".agentkit cannot be written (File exists): no log, no report.") == 1
    assert "Tested: 12 passed" in done.output
    assert done.code == 0


def test_a_full_disk_costs_one_line(project: Path, tmp_path: Path) -> None:
    """A log that cannot be written ends there; the outcome is still reported."""
    (project / ".agentkit").mkdir()
    (project / ".agentkit" / "post_gen.log").symlink_to("/dev/full")
    command = hook_command()
    done = subprocess.run(
        command,
        cwd=project,
        env=environment(fake_uv(tmp_path / "bin")),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("The log ends here, it cannot be written: No space left") == 1
    assert "Tested: 12 passed" in done.stdout


def test_a_report_that_cannot_be_written_leaves_the_one_before(
    project: Path, tmp_path: Path
) -> None:
    """A disk that fills up while the tests run does not leave half a report."""
    fill = "os.symlink('/dev/full', '.agentkit/post_gen.yml.tmp'); print('12 passed in 0.01s')"
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=fill))
    assert done.output.endswith("\nThe report cannot be written: No space left on device\n")
    assert done.report["summary"].startswith("stopped before the tests ended")


def test_the_report_of_an_earlier_run_is_not_taken_for_this_one(
    project: Path, tmp_path: Path
) -> None:
    """Where no report can be written there is none."""
    write(project / ".agentkit" / "post_gen.yml", '{"status": "passed"}')
    (project / ".agentkit" / "post_gen.yml.tmp").symlink_to("/dev/full")
    done = run_hook(project, fake_uv(tmp_path / "bin"))
    assert "Tested: 12 passed" in done.output
    assert done.report == {}


def test_a_report_is_all_that_is_left_of_its_writing(project: Path, tmp_path: Path) -> None:
    """Beside the report lie the log and what hides the folder, no unfinished file."""
    run_hook(project, tmp_path, AGENTKIT_SKIP_TESTS="1")
    names = {path.name for path in (project / ".agentkit").iterdir()}
    assert names == {".gitignore", "post_gen.log", "post_gen.yml"}


def test_the_report_folder_hides_itself_from_git(project: Path, tmp_path: Path) -> None:
    """`.agentkit/` ignores all that is in it."""
    run_hook(project, tmp_path, AGENTKIT_SKIP_TESTS="1")
    assert (project / ".agentkit" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_nothing_happens_in_the_temporary_copies_of_an_update(
    project: Path, tmp_path: Path
) -> None:
    """A task during an update prints nothing and writes nothing."""
    done = run_hook(project, tmp_path, STAGE="task", COPIER_OPERATION="update")
    assert (done.code, done.output) == (0, "")
    assert not (project / ".agentkit").exists()


def test_a_folder_that_is_not_the_project_is_left_alone(tmp_path: Path) -> None:
    """Where there is no agentkit the hook says so and writes nothing."""
    done = run_hook(tmp_path, tmp_path)
    assert "there is no src/demo/agentkit in " in done.output
    assert done.code == 0
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_hook_itself_is_one_line(tmp_path: Path) -> None:
    """What nobody foresaw (here: no pyproject.toml in a workspace) does not delete the project."""
    project = make_project(tmp_path / "outer" / "inner")
    write(tmp_path / "outer" / "pyproject.toml", "[tool.uv.workspace]\nmembers = ['inner']\n")
    (project / "pyproject.toml").unlink()
    done = run_hook(project, fake_uv(tmp_path / "bin"))
    assert "The check itself failed (FileNotFoundError: " in done.output
    assert done.code == 0


@pytest.mark.parametrize("header", ["[tool.uv.workspace]\n", "[tool.uv]\nworkspace = {}\n"])
def test_inside_another_uv_workspace_a_copy_is_tested(tmp_path: Path, header: str) -> None:
    """uv never runs in the project, because it would write the workspace's lock file."""
    project = make_project(tmp_path / "outer" / "packages" / "inner")
    write(tmp_path / "outer" / "pyproject.toml", header)
    where = "print(os.getcwd(), os.path.isdir('src/demo/agentkit'), '1 passed in 1s')"
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=where))
    assert str(project) not in done.report["summary"]
    assert "True 1 passed in 1s" in done.report["summary"]
    assert f"throw-away, by uv: {tmp_path / 'outer'} is another workspace" in done.output
    assert "sync --no-install-project" in done.log


def test_a_python_without_venv_is_one_line(project: Path, tmp_path: Path) -> None:
    """Debian's Python lacks a package; the line names it, the next the commands for later."""
    text = "The virtual environment was not created because ensurepip is not available."
    python = fake_tool(tmp_path / "bin", "broken", f"print({text!r}); sys.exit(1)") / "broken"
    script = hook_command()[2:]
    code = (
        f"import runpy, sys; sys.executable = {str(python)!r}; sys.argv = {script!r};"
        f"sys.path.insert(0, {str(Path(script[0]).parent)!r});"
        f"runpy.run_path({script[0]!r}, run_name='__main__')"
    )
    done = run_hook(project, tmp_path / "empty", [sys.executable, "-B", "-c", code])
    assert "sudo apt install python3-venv" in done.report["summary"]
    assert 'To test: python3 -m venv .venv && .venv/bin/python -m pip install -U "pip>=25.1"' in (
        done.output
    )


def test_without_a_requirements_file_a_foreign_project_is_told(tmp_path: Path) -> None:
    """A user who deleted the file after adding its packages gets one line."""
    project = make_project(tmp_path / "project")
    command = hook_command(kind="foreign", manager="pip")
    done = run_hook(project, fake_tool(tmp_path / "bin", "uv", "pass"), command)
    assert "NOT TESTED: agentkit-requirements.txt is gone" in done.output
    assert "To test: python -m pytest src/demo/agentkit" in done.output


def test_settings_of_the_project_are_not_looked_at_for_a_foreign_one(tmp_path: Path) -> None:
    """The tests of a foreign project run in a folder that holds agentkit and nothing else."""
    project = make_project(tmp_path / "project")
    write(project / "pyproject.toml", PYPROJECT + "[tool.pytest.ini_options]\naddopts = '--no'\n")
    write(project / "agentkit-requirements.txt", "pydantic\n")
    listing = "print(sorted(os.listdir()), '1 passed in 1s')"
    command = hook_command(kind="foreign")
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=listing), command)
    expected = "['agentkit', 'agentkit-requirements.txt', 'pytest.ini'] 1 passed in 1s"
    assert done.report["summary"] == expected
