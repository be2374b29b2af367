"""Install, test and lint agentkit, saying what happens while it happens."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import environment
from checklist import Counts, Results, read_results
from console import Console
from plan import Plan
from processes import Finished, Watch, run

_TEST_LINE = re.compile(r"::.* (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
_COLLECTED = re.compile(r"collected (\d+) items?")
_COUNTED = re.compile(r"\d+ (passed|failed|errors?|skipped)\b.* in ")
_NOT_DOWNLOADED = re.compile(
    r"error sending request|failed to fetch|dns error|network (is|was) (unreachable|disabled)"
    r"|NewConnectionError|NameResolutionError|connection (refused|reset|error|timed out)"
    r"|failed to establish|temporary failure in name resolution|offline|certificate|SSLError",
    re.IGNORECASE,
)
# uv writes what lies below an error in lines of their own, pip in warnings before it.
_CAUSE = re.compile(r"(?:caused by:?|connection broken by) *(.+)", re.IGNORECASE)
_NO_VENV = re.compile(r"ensurepip is not available|No module named '?(venv|ensurepip)\b")
_ERROR_LINE = re.compile(r"^\s*(\u00d7|(error|fatal|hint|[a-z.]*error)\b)", re.IGNORECASE)
_NOTHING_COLLECTED = 5


@dataclass(frozen=True)
class Outcome:
    """What came of it: status, one line that sums it up, and what the checklist needs."""

    status: str
    summary: str
    results: Results | None = None
    lint_clean: bool | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """What every child process of one hook run shares."""

    plan: Plan
    console: Console
    deadline: float
    limit: float

    def child(
        self, phase: str, command: list[str], env: dict[str, str], progress: Callable[[str], str]
    ) -> Finished:
        """Run a command in the plan's folder; `progress` turns its lines into a sign of life."""
        state = [""]

        def on_line(line: str) -> None:
            self.console.log(line)
            state[0] = progress(line)

        def on_wait(seconds: float) -> None:
            self.console.phase(phase, f"... {state[0]}{seconds:.0f} s")

        self.console.log("$ " + " ".join(command))
        return run(command, self.plan.folder, env, self.deadline, Watch(on_line, on_wait))


def check(work: Run, report: Path) -> Outcome:
    """Install agentkit's packages, run its tests and ruff; never raises for what they do."""
    work.console.phase("environment", work.plan.label)
    if (problem := _install(work)) is not None:
        return Outcome("skipped", problem)
    outcome = _test(work, report)
    if outcome.results is None:
        return outcome
    lint_clean = _lint(work)
    return Outcome(outcome.status, outcome.summary, outcome.results, lint_clean, outcome.failures)


def _install(work: Run) -> str | None:
    started = time.monotonic()
    env = environment.for_install(os.environ)
    work.console.phase("install", "packages, a few seconds the first time")
    for command in work.plan.install:
        try:
            done = work.child("install", command, env, lambda line: "")
        except OSError as error:
            return f"{command[0]} could not be started: {error.strerror}"
        if done.code != 0:
            return _explain_install(done, work.limit)
    work.console.phase("install", f"done, {time.monotonic() - started:.1f} s")
    return None


def _explain_install(done: Finished, limit: float) -> str:
    output = "\n".join(done.lines)
    line = _telling_line(done.lines)
    if done.code is None:
        return f"the packages were not installed within {limit:g} s (AGENTKIT_TEST_TIMEOUT)"
    if _NO_VENV.search(output):
        return (
            "Python's venv module is incomplete: on Debian or Ubuntu, sudo apt install python3-venv"
        )
    if _NOT_DOWNLOADED.search(output):
        causes = _CAUSE.findall(output)
        line += f" ({causes[-1].strip()[:300]})" if causes else ""
        return f"the packages could not be downloaded: {line}"
    return f"the packages could not be installed: {line}"


def _test(work: Run, report: Path) -> Outcome:
    env = environment.for_tests(os.environ) | {"AGENTKIT_REPORT": str(report)}
    # The user's addopts may ask for plugins, coverage limits or quiet output.
    options = ["-v", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--color=no"]
    command = [*work.plan.python, "-m", "pytest", *options, work.plan.package]
    work.console.phase("tests", "running")
    try:
        done = work.child("tests", command, env, _test_progress())
    except OSError as error:
        return Outcome("skipped", f"{command[0]} could not be started: {error.strerror}")
    outcome = _judge_tests(done, read_results(report), work.limit)
    work.console.phase("tests", outcome.summary)
    return outcome


def _test_progress() -> Callable[[str], str]:
    done, total = 0, "?"

    def progress(line: str) -> str:
        nonlocal done, total
        if found := _COLLECTED.search(line):
            total = found[1]
        done += _TEST_LINE.search(line) is not None
        return f"{done} of {total}, " if done else ""

    return progress


def _judge_tests(done: Finished, results: Results | None, limit: float) -> Outcome:
    output = "\n".join(done.lines)
    if done.code is None:
        summary = f"the tests did not end within {limit:g} s (AGENTKIT_TEST_TIMEOUT)"
        return Outcome("skipped", summary, results)
    if "No module named pytest" in output:
        return Outcome("skipped", "pytest is not installed: add it to the dev dependency group")
    if done.code == _NOTHING_COLLECTED:
        return Outcome("skipped", "no tests were found in agentkit")
    counted = next((line for line in reversed(done.lines) if _COUNTED.search(line)), None)
    if counted is None:
        return Outcome("skipped", f"the tests could not start: {_telling_line(done.lines)}")
    failures = tuple(line for line in done.lines if line.startswith(("FAILED ", "ERROR ")))
    status = "passed" if done.code == 0 else "failed"
    summary = counted.strip("= ")
    return Outcome(status, summary, results or Results(_count(summary)), None, failures)


def _count(summary: str) -> Counts:
    """Read pytest's last line, for a suite that wrote no report of its own."""

    def of(word: str) -> int:
        found = re.search(rf"(\d+) {word}", summary)
        return int(found[1]) if found else 0

    return Counts(of("passed"), of("failed"), of("skipped"))


def _lint(work: Run) -> bool | None:
    """Tell whether ruff is content; None when it could not run."""
    command = [*work.plan.python, "-m", "ruff", "check", "--no-cache", work.plan.package]
    env = environment.for_tests(os.environ)
    try:
        done = work.child("lint", command, env, lambda line: "")
    except OSError:
        return None
    clean = {0: True, 1: False}.get(-1 if done.code is None else done.code)
    if any("No module named ruff" in line for line in done.lines):
        clean = None
    texts = {True: "clean", False: "ruff complains, see the log", None: "ruff could not run"}
    work.console.phase("lint", texts[clean])
    return clean


def _telling_line(lines: list[str]) -> str:
    """Return the line that names the error, else the last one."""
    telling = [line for line in lines if _ERROR_LINE.search(line)] or lines
    last = next((line for line in reversed(telling) if line.strip()), "no output")
    return " ".join(last.split())[:300]
