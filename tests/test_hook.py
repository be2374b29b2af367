"""The hook says what came of the tests and never costs anyone their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hook_project import GREEN, SLUGS, fake_uv, hook_command, make_project, run_hook, write

OFFLINE = (
    "print('error: Failed to fetch: `https://pypi.org/simple/pydantic/`\\n"
    "  Caused by: dns error: failed to lookup address information'); sys.exit(1)"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.mark.parametrize(
    ("tests", "status", "summary"),
    [
        ("print('12 passed in 0.01s')", "passed", "12 passed in 0.01s"),
        ("print('=== 1 failed, 3 passed in 1s ==='); sys.exit(1)", "failed", "1 failed, 3 passed"),
        (
            "print('ImportError: no x'); sys.exit(4)",
            "skipped",
            "could not start: ImportError: no x",
        ),
        ("print('no tests ran in 0.01s'); sys.exit(5)", "skipped", "no tests were found"),
        ("print('python: No module named pytest'); sys.exit(1)", "skipped", "not installed"),
    ],
)
def test_the_outcome_is_reported_and_the_exit_status_is_0(
    project: Path, tmp_path: Path, tests: str, status: str, summary: str
) -> None:
    """Whatever the tests do, status and summary are in the report and Copier sees success."""
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=tests))
    assert (done.code, done.report["status"]) == (0, status)
    assert summary in done.report["summary"]
    assert done.report["summary"] in done.output


def test_an_install_without_network_is_said_in_one_line(project: Path, tmp_path: Path) -> None:
    """It is uv's line and the cause below it; the next one has the command for the tests."""
    done = run_hook(project, fake_uv(tmp_path / "bin", sync=OFFLINE))
    assert (done.code, done.report["status"]) == (0, "skipped")
    assert (
        "NOT TESTED: the packages could not be downloaded: error: Failed to fetch:"
        " `https://pypi.org/simple/pydantic/` (dns error: failed to lookup address information)\n"
    ) in done.output
    assert "To test: uv run python -m pytest\n" in done.output


@pytest.mark.parametrize(
    ("output", "cause"),
    [
        (
            "error: Request failed after 3 retries\\n  Caused by: Failed to fetch: `https://x/`\\n"
            "  Caused by: invalid peer certificate: UnknownIssuer",
            "error: Request failed after 3 retries (invalid peer certificate: UnknownIssuer)",
        ),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by "
            "SSLError(1, [SSL: CERTIFICATE_VERIFY_FAILED])\\nERROR: No matching distribution found",
            "ERROR: No matching distribution found (SSLError(1, [SSL: CERTIFICATE_VERIFY_FAILED]))",
        ),
    ],
    ids=["uv", "pip"],
)
def test_a_certificate_that_is_not_trusted_is_named(
    project: Path, tmp_path: Path, output: str, cause: str
) -> None:
    """Behind a proxy that signs for others, the user sees what the installer says about it."""
    failing = f"print('{output}'); sys.exit(2)"
    done = run_hook(project, fake_uv(tmp_path / "bin", sync=failing))
    assert done.report["summary"] == f"the packages could not be downloaded: {cause}"


def test_any_other_failing_install_shows_the_line_with_the_error(
    project: Path, tmp_path: Path
) -> None:
    """Of an installer's output the line that says error is shown, not just the last one."""
    failing = "print('error: bad version\\nbye'); sys.exit(2)"
    done = run_hook(project, fake_uv(tmp_path / "bin", sync=failing))
    assert done.report["summary"] == "the packages could not be installed: error: bad version"


def test_a_uv_that_cannot_be_started_is_one_line(project: Path, tmp_path: Path) -> None:
    """A broken uv is named, and nothing else happens."""
    tools = tmp_path / "bin"
    write(tools / "uv", "#!/nowhere/python\n")
    (tools / "uv").chmod(0o755)
    done = run_hook(project, tools)
    assert (done.code, done.report["status"]) == (0, "skipped")
    assert "uv could not be started: No such file" in done.report["summary"]


@pytest.mark.parametrize(
    ("tests", "code"), [("print('1 passed in 1s')", 0), ("print('1 failed in 1s'); sys.exit(1)", 1)]
)
def test_strict_mode_fails_unless_the_tests_pass(
    project: Path, tmp_path: Path, tests: str, code: int
) -> None:
    """AGENTKIT_STRICT=1 turns every status but passed into exit status 1."""
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=tests), AGENTKIT_STRICT="1")
    assert done.code == code


def test_strict_mode_counts_skipped_tests_as_failure(project: Path, tmp_path: Path) -> None:
    """Tests that did not run prove nothing."""
    done = run_hook(project, tmp_path, AGENTKIT_STRICT="1", AGENTKIT_SKIP_TESTS="1")
    assert done.code == 1


def test_tests_can_be_skipped(project: Path, tmp_path: Path) -> None:
    """AGENTKIT_SKIP_TESTS=1 starts nothing and says why."""
    started = tmp_path / "started"
    tools = fake_uv(tmp_path / "bin", sync=f"open({str(started)!r}, 'w')")
    done = run_hook(project, tools, AGENTKIT_SKIP_TESTS="1")
    assert "NOT TESTED: AGENTKIT_SKIP_TESTS is set" in done.output
    assert done.report["status"] == "skipped"
    assert not started.exists()


def test_failing_tests_are_named(project: Path, tmp_path: Path) -> None:
    """At most five names are shown; the log has them all."""
    failing = "\n".join(f"print('FAILED agentkit/test_{i}.py::test_x')" for i in range(7))
    tools = fake_uv(tmp_path / "bin", tests=failing + "\nprint('7 failed in 1s'); sys.exit(1)")
    done = run_hook(project, tools)
    assert done.output.count("FAILED agentkit/") == 5
    assert done.log.count("$ ") == 3
    assert "test_6.py" in done.log
    assert "Full output: .agentkit/post_gen.log" in done.output


def test_all_green_shows_ten_ticks_in_order(project: Path, tmp_path: Path) -> None:
    """Ten lines, each with a tick, printed and kept in the report."""
    done = run_hook(project, fake_uv(tmp_path / "bin"))
    ticks = [line for line in done.output.splitlines() if line.startswith("  ✓ ")]
    assert len(ticks) == 10
    assert ticks[0] == "  ✓ All modules import and lint"
    assert ticks[1] == "  ✓ Tests pass"
    assert ticks[-1] == "  ✓ Keys are masked everywhere"
    assert done.report["lines"][:11] == ["Checklist:", *ticks]


def results(slug: str, passed: int, failed: int, skipped: int) -> dict[str, Any]:
    counts = {"passed": passed, "failed": failed, "skipped": skipped}
    return {**GREEN, "checklist": {**GREEN["checklist"], slug: counts}}


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ((2, 1, 0), "  ✗ Costs add up across requests (1 failed)"),
        ((0, 0, 3), "  · Costs add up across requests (did not run)"),
        ((0, 0, 0), "  · Costs add up across requests (did not run)"),
        ((2, 0, 1), "  · Costs add up across requests (1 of 3 did not run)"),
    ],
)
def test_a_line_is_ticked_only_if_all_its_tests_ran_and_passed(
    project: Path, tmp_path: Path, counts: tuple[int, int, int], line: str
) -> None:
    """A failure gets a cross; tests that did not run get a mark of their own."""
    done = run_hook(project, fake_uv(tmp_path / "bin", results=results("costs", *counts)))
    assert line in done.output.splitlines()


def test_a_line_without_tests_is_not_ticked(project: Path, tmp_path: Path) -> None:
    """A report that does not mention a line says nothing about it."""
    done = run_hook(project, fake_uv(tmp_path / "bin", results={**GREEN, "checklist": {}}))
    assert done.output.count("(did not run)") == len(SLUGS)
    assert "  ✓ Tests pass" in done.output


@pytest.mark.parametrize(
    ("ruff", "line"),
    [
        ("sys.exit(1)", "  ✗ All modules import and lint (ruff complains)"),
        ("sys.exit(2)", "  · All modules import and lint (ruff did not run)"),
        (
            "print('python: No module named ruff'); sys.exit(1)",
            "  · All modules import and lint (ruff did not run)",
        ),
    ],
)
def test_the_first_line_needs_ruff_to_be_content(
    project: Path, tmp_path: Path, ruff: str, line: str
) -> None:
    """Imports that work are not enough when ruff complains or could not run."""
    done = run_hook(project, fake_uv(tmp_path / "bin", ruff=ruff))
    assert line in done.output.splitlines()
    assert done.report["status"] == "passed"


def test_the_suite_is_not_ticked_when_pytest_failed_after_its_tests(
    project: Path, tmp_path: Path
) -> None:
    """Counts without failures do not outweigh a bad exit status."""
    tools = fake_uv(tmp_path / "bin", tests="print('12 passed, 1 error in 1s'); sys.exit(1)")
    assert "  ✗ Tests pass (the run did not end well)" in run_hook(project, tools).output


@pytest.mark.parametrize("text", ["", "[]", '{"passed": "many"}', '{"passed": 1}'])
def test_a_report_that_cannot_be_read_leaves_the_checklist_unmarked(
    project: Path, tmp_path: Path, text: str
) -> None:
    """Without a readable report of the suite only pytest's own last line counts."""
    tests = f"open(os.environ['AGENTKIT_REPORT'], 'w').write({text!r}); print('1 passed in 1s')"
    done = run_hook(project, fake_uv(tmp_path / "bin", tests=tests, results=None))
    assert done.report["status"] == "passed"
    assert done.output.count("✓") == 1
    assert "  ✓ Tests pass" in done.output


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_marks_are_ascii_where_the_terminal_has_no_others(
    project: Path, tmp_path: Path, encoding: str
) -> None:
    """A narrow encoding gets plain marks instead of an error."""
    done = run_hook(project, fake_uv(tmp_path / "bin"), PYTHONIOENCODING=encoding)
    assert "  [ok] Tests pass" in done.output
    assert done.code == 0


def test_phases_are_shown(project: Path, tmp_path: Path) -> None:
    """Environment, install with its seconds, tests and lint have a line each."""
    output = run_hook(project, fake_uv(tmp_path / "bin")).output
    for phase in ("environment  uv, .venv", "install      done, ", "tests        12 pas", "lint  "):
        assert f"  {phase}" in output


def test_arguments_that_make_no_sense_are_one_line(project: Path, tmp_path: Path) -> None:
    """A wrong argument is named and nothing is written."""
    done = run_hook(project, tmp_path, hook_command(manager="conda"))
    assert done.output.startswith("post_gen.py: package manager is 'conda', not one of uv, ")
    assert done.code == 0
    assert not (project / ".agentkit").exists()
