"""However the hook is ended, by hand or by the clock, the project and a report remain."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from hook_project import ended, ends, environment, fake_uv, hook_command, make_project, run_hook

# Starts a child that outlives it, says which, and blocks.
BLOCK = (
    "import subprocess; child = subprocess.Popen([sys.executable, '-c', 'import time;"
    " time.sleep(60)']); open({pids!r}, 'w').write(str(child.pid)); print('blocked'); child.wait()"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def start_blocked(project: Path, tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """Start the hook and return once its tests run, with the id of a process below them."""
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    tools = fake_uv(tmp_path / "bin", tests=BLOCK.format(pids=str(pids)))
    hook = subprocess.Popen(
        hook_command(),
        cwd=project,
        env=environment(tools),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return hook, int(pids.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_tests_and_keeps_the_project(
    project: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C gives one line, a report, exit status 0, and leaves no process behind."""
    hook, below = start_blocked(project, tmp_path)
    hook.send_signal(number)
    output, _ = hook.communicate()
    done = ended(project, hook.returncode, output)
    assert (done.code, done.report["status"]) == (0, "skipped")
    assert "\nStopped. Your files are all there.\n" in done.output
    assert "Traceback" not in done.output
    assert ends(below)


def test_a_killed_hook_leaves_a_report(project: Path, tmp_path: Path) -> None:
    """Copier kills an interrupted hook soon; the report from before the tests stays."""
    hook, below = start_blocked(project, tmp_path)
    hook.kill()
    output, _ = hook.communicate()
    os.kill(below, signal.SIGKILL)
    report = ended(project, hook.returncode, output).report
    assert report["status"] == "skipped"
    assert report["summary"].startswith("stopped before the tests ended; run them: ")


def test_the_deadline_ends_the_whole_process_group(project: Path, tmp_path: Path) -> None:
    """Tests that hang are ended with all that they started, and not taken for passed ones."""
    pids = tmp_path / "pids"
    tools = fake_uv(tmp_path / "bin", tests=BLOCK.format(pids=str(pids)))
    done = run_hook(project, tools, AGENTKIT_TEST_TIMEOUT="3")
    assert "NOT TESTED: the tests did not end within 3 s (AGENTKIT_TEST_TIMEOUT)" in done.output
    assert done.report["status"] == "skipped"
    assert "  ✓ Tests pass" not in done.output
    assert "blocked" in done.log
    assert ends(int(pids.read_text(encoding="utf-8")))


def test_the_deadline_counts_the_install_too(project: Path, tmp_path: Path) -> None:
    """An installer that waits for ever is ended with one line."""
    tools = fake_uv(tmp_path / "bin", sync="time.sleep(3600)")
    done = run_hook(project, tools, AGENTKIT_TEST_TIMEOUT="0.1")
    assert "not installed within 0.1 s (AGENTKIT_TEST_TIMEOUT)" in done.report["summary"]


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan", "inf"])
def test_a_bad_deadline_is_named_and_replaced(project: Path, tmp_path: Path, text: str) -> None:
    """A value that is no number of seconds costs one line, not the run."""
    done = run_hook(project, fake_uv(tmp_path / "bin"), AGENTKIT_TEST_TIMEOUT=text)
    assert (
        f"AGENTKIT_TEST_TIMEOUT is {text!r}, not a number of seconds: 600 is used." in done.output
    )
    assert done.report["status"] == "passed"
