"""Install the generated project, run its tests, and say what came of it and what to type next.

Usage: post_gen.py copy|update CODE_ROOT own|foreign uv|poetry|pdm|pip PROJECT_NAME

Copier starts this in the project with its own interpreter, so only the standard library is
there. The exit status stays 0 whatever the tests do: a failing task makes Copier delete the
folder that it has just created. AGENTKIT_STRICT=1 (for CI, with Copier's -C) makes it 1.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

import imports
import next_steps
import report
import update
from checklist import format_checklist
from console import Console, prepare_stdout
from environment import secret_values
from plan import CannotTest, make_plan
from project import Project, WrongPlace, parse_arguments
from suite import Outcome, Run, check

_DEFAULT_LIMIT = 600.0
_SHOWN_FAILURES = 5
_STOPPED = "Stopped. Your files are all there."
_TEMPLATE = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Run the hook and return its exit status."""
    if _is_temporary_copy():
        return 0
    prepare_stdout()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    status = _guard(arguments, Console(secret_values(os.environ)))
    return 1 if os.environ.get("AGENTKIT_STRICT") == "1" and status != "passed" else 0


def _guard(arguments: list[str], console: Console) -> str:
    """Return the status; whatever breaks on the way to it costs one line, not the project."""
    try:
        project = parse_arguments(arguments, Path.cwd())
        return _run(update.recognise_recopy(project), console)
    except WrongPlace as error:
        console.say(f"post_gen.py: {error}. Nothing was tested, nothing was removed.")
    except KeyboardInterrupt:
        console.say(_STOPPED)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        console.say(f"The check itself failed ({reason}). Nothing was removed.")
    return "skipped"


def _is_temporary_copy() -> bool:
    """An update also renders into two throw-away folders, where it runs the tasks of a copy."""
    return os.environ.get("STAGE") == "task" and os.environ.get("COPIER_OPERATION") == "update"


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(project: Project, console: Console) -> str:
    if project.operation != "copy":
        console.say(f"To undo this {project.operation}: {update.UNDO}")
    _check_place(project)
    recorded = _begin_record(project, console)
    unsolved, notes = _look_at_update(project, console)
    if unsolved:
        outcome = Outcome("conflicts", f"solve these first: {', '.join(unsolved)}")
    else:
        outcome = _test(project, console)
    lines = [*notes, *_checklist(outcome, console), *_verdict(outcome, project)]
    lines += _next(project)
    for line in lines:
        console.say(line)
    if recorded:
        _record(project, console, outcome, lines)
    return outcome.status


def _check_place(project: Project) -> None:
    if (project.folder / project.package).is_dir():
        return
    reason = f"there is no {project.package} in {project.folder}"
    if project.operation == "update":
        reason += (
            ". Where you moved it: undo this update, write the new folder as code_root into"
            " .copier-answers.yml, commit, and update again"
        )
    raise WrongPlace(reason)


def _begin_record(project: Project, console: Console) -> bool:
    """Open the log; leave the report that stays when the hook is killed while it works."""
    try:
        console.open_log(report.open_log(project.folder))
        command = next_steps.test_command(project)
        report.write_report(
            project.folder, "skipped", f"stopped before the tests ended; run them: {command}", []
        )
    except OSError as error:
        console.say(f"{report.FOLDER} cannot be written ({error.strerror}): no log, no report.")
        return False
    return True


def _record(project: Project, console: Console, outcome: Outcome, lines: list[str]) -> None:
    masked = [console.mask(line) for line in lines]
    commands = next_steps.first_commands(project)
    try:
        report.write_report(
            project.folder, outcome.status, console.mask(outcome.summary), masked, commands
        )
    except OSError as error:
        console.say(f"The report cannot be written: {error.strerror}")


def _look_at_update(project: Project, console: Console) -> tuple[list[str], list[str]]:
    """Return the conflicts, and what the user should read at the end."""
    if project.operation == "copy":
        return [], []
    if project.operation == "recopy":
        return [], update.describe_recopy(project)
    conflicts = update.find_conflicts(project)
    trees = update.read_trees(project, _TEMPLATE)
    if trees is None:
        return conflicts, [
            "The old version of the template cannot be read, so compare what the update changed"
            " yourself: git diff HEAD"
        ]
    for line in update.describe_merge(project, trees, conflicts):
        console.say(line)
    notes = update.describe_lost(update.find_lost(project, trees, _TEMPLATE))
    return conflicts, notes + update.describe_imports(imports.find_broken(project, trees.head))


def _test(project: Project, console: Console) -> Outcome:
    if os.environ.get("AGENTKIT_SKIP_TESTS") == "1":
        return Outcome("skipped", "AGENTKIT_SKIP_TESTS is set")
    limit = _time_limit(console)
    console.say(f"Installing and testing {project.name} (Ctrl-C stops it, nothing gets lost)")
    with tempfile.TemporaryDirectory(prefix="agentkit-", ignore_cleanup_errors=True) as folder:
        # The report lies outside of what is tested.
        scratch, results = Path(folder, "project"), Path(folder, "results.json")
        scratch.mkdir()
        try:
            plan = make_plan(project, scratch)
            return check(Run(plan, console, time.monotonic() + limit, limit), results)
        except CannotTest as error:
            return Outcome("skipped", str(error))
        except KeyboardInterrupt:
            console.say(_STOPPED)
            return Outcome("skipped", "stopped by Ctrl-C")


def _time_limit(console: Console) -> float:
    """Return the seconds that installing and testing may take together."""
    text = os.environ.get("AGENTKIT_TEST_TIMEOUT", "")
    try:
        limit = float(text) if text else _DEFAULT_LIMIT
        if 0 < limit < float("inf"):
            return limit
    except ValueError:
        pass
    console.say(
        f"AGENTKIT_TEST_TIMEOUT is {text!r}, not a number of seconds: {_DEFAULT_LIMIT:g} is used."
    )
    return _DEFAULT_LIMIT


def _checklist(outcome: Outcome, console: Console) -> list[str]:
    if outcome.results is None:
        return []
    passed, marks = outcome.status == "passed", console.marks
    lines = format_checklist(
        outcome.results, suite_passed=passed, lint_clean=outcome.lint_clean, marks=marks
    )
    return ["Checklist:", *lines]


def _verdict(outcome: Outcome, project: Project) -> list[str]:
    """Say how it ended, and what to do when it did not end well."""
    again = next_steps.test_command(project)
    if outcome.status == "passed":
        return [f"Tested: {outcome.summary}"]
    if outcome.status == "failed":
        failures = [f"  {line}" for line in outcome.failures[:_SHOWN_FAILURES]]
        return [
            f"TESTS FAILED: {outcome.summary}",
            *failures,
            f"Nothing was removed. Full output: {report.LOG}. Again: {again}",
        ]
    if outcome.status == "conflicts":
        return [f"CONFLICTS, {outcome.summary}", f"Then git add them and run the tests: {again}"]
    return [f"NOT TESTED: {outcome.summary}", f"Nothing was removed. To test: {again}"]


def _next(project: Project) -> list[str]:
    if project.operation == "copy":
        return next_steps.after_copy(project)
    return next_steps.after_update(project)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
